package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/store"
)

// find looks for the file. If there is none and create is set, it makes an empty one.
func find(path string, create bool) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		return make0(path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: there is no such file: run `headrace migrate up`, or set Options.Migrate", store.ErrSchema)
	case err != nil:
		return nil, fmt.Errorf("find the file: %w", err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	return info, nil
}

// make0 makes an empty file that only its owner can read: it will contain payloads.
func make0(path string) (fs.FileInfo, error) {
	if dir, err := os.Stat(filepath.Dir(path)); err != nil || !dir.IsDir() {
		return nil, fmt.Errorf("there is no directory %s", filepath.Dir(path))
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) { // another process was first
		return os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("make the file: %w", err)
	}
	info, err := f.Stat()
	return info, errors.Join(err, f.Close())
}

// header is the beginning of a SQLite file.
const header = "SQLite format 3\x00"

// checkHeader rejects other files. SQLite does that too, except for a short file, which
// it takes for an empty database and overwrites.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("look at the file: %w", err)
	}
	defer func() { _ = f.Close() }()
	begin := make([]byte, len(header))
	n, err := io.ReadFull(f, begin)
	switch {
	case errors.Is(err, io.EOF): // empty
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("look at the file: %w", err)
	case string(begin[:n]) != header:
		return errors.New("the file is not a database")
	}
	return nil
}
