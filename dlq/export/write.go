package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
)

// Writer writes a file, line by line. It is not safe for concurrent use.
type Writer struct {
	w     io.Writer
	sum   hash.Hash
	count int
	most  int
	text  bytes.Buffer
}

// NewWriter writes the first line.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	out := &Writer{w: w, sum: sha256.New(), most: MaxLine}
	return out, out.line(line{Export: &h})
}

// Letter writes a letter. Its errors are those of the writer, and of a letter that needs more than
// MaxLine.
func (w *Writer) Letter(l *Letter) error {
	if err := w.line(line{Letter: lineOf(l)}); err != nil {
		return fmt.Errorf("write letter %d: %w", l.LetterID, err)
	}
	w.count++
	return nil
}

// End writes the last line.
func (w *Writer) End() (End, error) {
	end := End{Count: w.count, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	return end, w.line(line{End: &end})
}

func (w *Writer) line(l line) error {
	l.V = Version
	w.text.Reset()
	e := json.NewEncoder(&w.text)
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		return err
	}
	if w.text.Len() > w.most {
		return fmt.Errorf("%d bytes are more than a line may have, %d", w.text.Len(), w.most)
	}
	_, _ = w.sum.Write(w.text.Bytes()) // a hash returns no error
	_, err := w.w.Write(w.text.Bytes())
	if w.text.Cap() > maxKept {
		w.text = bytes.Buffer{}
	}
	return err
}

// maxKept is how much memory one long line may leave for the next.
const maxKept = 1 << 20
