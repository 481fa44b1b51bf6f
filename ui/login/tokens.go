package login

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/headrace/headrace/ui/who"
)

const maxFile = 1 << 20 // bytes

// Tokens knows people by the tokens of a file. It is read for each request, so a token that was removed is refused at
// once; while the file cannot be read, everyone is. It has a line for each token; one that begins with # is a comment:
//
//	NAME viewer|operator|admin SHA256
//
// where SHA256 is that of the token in hexadecimal digits. A name may have several tokens. Make a token with
// `openssl rand -hex 32`; one with fewer than 20 bytes is refused.
type Tokens struct {
	path   string
	logger *slog.Logger
}

// NewTokens returns an error if the file cannot be read now; a *FileError names the line.
func NewTokens(path string, logger *slog.Logger) (*Tokens, error) {
	t := &Tokens{path: path, logger: logger}
	if _, err := t.read(); err != nil {
		return nil, err
	}
	return t, nil
}

// FileError says what is wrong with a line of a file of tokens. Its text does not repeat the line.
type FileError struct {
	Path string // of the file
	Line int    // from 1
	Why  string // what is wrong, for people
}

// Error implements error.
func (e *FileError) Error() string { return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Why) }

// Identify returns the person whose token the request has, as a bearer token or as the password of Basic, whose user
// name does not matter. Any error of the file is returned.
func (t *Tokens) Identify(r *http.Request) (who.Person, error) {
	token := presented(r)
	if len(token) < leastSecret {
		return who.Person{}, who.ErrUnknown
	}
	list, err := t.read()
	if err != nil {
		return who.Person{}, err
	}
	hash, person := sha256.Sum256([]byte(token)), who.Person{}
	for _, known := range list {
		if subtle.ConstantTimeCompare(hash[:], known.hash[:]) == 1 {
			person = known.Person
		}
	}
	if person.Role == 0 {
		return who.Person{}, who.ErrUnknown
	}
	return person, nil
}

// presented returns the token of a request; "" if it has none or several.
func presented(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	if scheme, token, ok := strings.Cut(values[0], " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return ""
}

// Handler asks for a token, which browsers do in a form of their own.
func (t *Tokens) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := t.Identify(r)
		switch {
		case err == nil:
			next.ServeHTTP(w, r)
		case errors.Is(err, who.ErrUnknown):
			w.Header().Set("WWW-Authenticate", `Basic realm="headrace", charset="UTF-8"`)
			refuse(w, http.StatusUnauthorized, "", `<p>Give your token as the password. The user name does not matter.</p>`)
		default:
			t.logger.ErrorContext(r.Context(), "headrace: each request is refused: the file of tokens cannot be read", "error", err)
			refuse(w, http.StatusServiceUnavailable, "", `<p>The file of tokens cannot be read; the log says why.</p>`)
		}
	})
}

func (t *Tokens) beyond() error { return nil }

type token struct {
	who.Person
	hash [sha256.Size]byte
}

func (t *Tokens) read() ([]token, error) {
	f, err := os.Open(t.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return parse(t.path, text)
}

func parse(path string, text []byte) (list []token, err error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxFile+1)
	seen := make(map[[sha256.Size]byte]int)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		one, why := parseLine(words)
		if first, twice := seen[one.hash]; why == "" && twice {
			why = fmt.Sprintf("the token of line %d again", first)
		}
		if why != "" {
			return nil, &FileError{path, n, why}
		}
		seen[one.hash] = n
		list = append(list, one)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no token", path)
	}
	return list, nil
}

// parseLine returns a token, or why the words are none.
func parseLine(words []string) (t token, why string) {
	if len(words) != 3 {
		return t, fmt.Sprintf("%d words, not a name, a role and a SHA-256", len(words))
	}
	if t.Name = words[0]; !who.Fit(t.Name) {
		return t, "the name is too long, or has characters that cannot be seen"
	}
	var ok bool
	if t.Role, ok = who.Parse(words[1]); !ok {
		return t, "the role is not viewer, operator or admin"
	}
	if hash, err := hex.DecodeString(words[2]); err != nil || len(hash) != sha256.Size {
		return t, "the third word is not a SHA-256 of 64 hexadecimal digits"
	} else {
		copy(t.hash[:], hash)
	}
	return t, ""
}
