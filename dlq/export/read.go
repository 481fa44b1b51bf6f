package export

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/encode"
)

// Read reads a file to its end, and checks every line. It calls head with the first line, and each
// with every letter and the length of its line: before the end is reached, it is not known whether the
// file is whole. The error matches ErrFile where the file is the fault.
func Read(r io.Reader, head func(Header) error, each func(l *Letter, bytes int) error) (End, error) {
	return read(r, MaxLine, head, each)
}

func read(r io.Reader, most int, head func(Header) error, each func(*Letter, int) error) (End, error) {
	in := &reader{in: bufio.NewReaderSize(r, 64<<10), most: most, sum: sha256.New()}
	first, err := in.next()
	if err != nil {
		return End{}, err
	}
	h := first.Export
	switch {
	case h == nil:
		return End{}, in.bad("it does not begin with the line of an export")
	case h.Redacted:
		return End{}, in.bad("it is redacted: what it says is not what was sent. Export the letters with --unredacted")
	}
	if err := head(*h); err != nil {
		return End{}, err
	}
	for {
		sum := hex.EncodeToString(in.sum.Sum(nil))
		one, err := in.next()
		switch {
		case err != nil:
			return End{}, err
		case one.End != nil:
			return *one.End, in.end(*one.End, sum)
		case one.Letter == nil:
			return End{}, in.bad("it is neither a letter nor the end")
		case one.Letter.Consumer != h.Consumer:
			return End{}, in.bad("its letter is one of consumer %q", encode.Short(one.Letter.Consumer, 80))
		}
		l, err := one.Letter.letter()
		if err != nil {
			return End{}, in.bad("%v", err)
		}
		in.count++
		if err := each(l, in.size); err != nil {
			return End{}, err
		}
	}
}

// reader reads the lines of a file.
type reader struct {
	in    *bufio.Reader
	most  int
	sum   hash.Hash
	n     int // of the line
	size  int // of it in bytes
	count int // of letters
}

// bad is the error of the present line.
func (r *reader) bad(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrFile, r.n, fmt.Sprintf(format, args...))
}

// next reads a line, adds it to the sum, and parses it.
func (r *reader) next() (l line, err error) {
	text, err := r.read()
	if err != nil {
		return l, err
	}
	_, _ = r.sum.Write(text)
	r.size = len(text)
	if !utf8.Valid(text) { // of which encoding/json would make another text
		return l, r.bad("it is not UTF-8")
	}
	err = json.Unmarshal(text, &l)
	if err == nil && l.V == Version {
		return l, nil
	}
	var v struct {
		V *int `json:"v"`
	}
	switch noVersion := json.Unmarshal(text, &v); {
	case noVersion != nil || v.V == nil:
		return l, r.bad("it is no line of an export, or was cut")
	case *v.V != Version:
		return l, r.bad("it has version %d of the format, and this headrace knows %d", *v.V, Version)
	}
	return l, r.bad("%v", err)
}

// read returns the next line with its end.
func (r *reader) read() (text []byte, err error) {
	r.n++
	for {
		part, err := r.in.ReadSlice('\n')
		if len(text)+len(part) > r.most {
			return nil, r.bad("it is longer than %d bytes", r.most)
		}
		text = append(text, part...)
		switch {
		case err == nil:
			return text, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read line %d: %w", r.n, err)
		case len(text) > 0:
			return text, nil
		case r.n == 1:
			return nil, fmt.Errorf("%w: it is empty", ErrFile)
		default:
			return nil, fmt.Errorf("%w: it ends after line %d without its last line: it was cut", ErrFile, r.n-1)
		}
	}
}

// end checks the last line: what came before has this sum, and nothing follows.
func (r *reader) end(e End, sum string) error {
	switch {
	case e.Count != r.count:
		return r.bad("it says %d letters, and there are %d: letters are missing, or came to it", e.Count, r.count)
	case e.SHA256 != sum:
		return r.bad("it says another SHA-256 than the lines before have: they were changed")
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(r.in, 1))
	switch {
	case err != nil:
		return fmt.Errorf("read after line %d: %w", r.n, err)
	case rest > 0:
		return r.bad("something follows the last line: import one export at a time")
	}
	return nil
}
