package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// asItIs is the mode of a file that no process has open: SQLite reads it without its log, which a process
// that may not write the directory could not make.
const asItIs = "immutable"

// readOnly chooses how the file is read.
func (s *Store) readOnly() (err error) {
	s.mode = "ro"
	if s.logged() {
		return nil
	}
	s.mode = asItIs
	s.before, err = os.Stat(s.path)
	return err
}

// logged reports whether a process has the file open, or has left its log.
func (s *Store) logged() bool {
	_, err := os.Stat(s.path + "-wal")
	return !errors.Is(err, fs.ErrNotExist)
}

// unchanged returns an error if a file that was read as it is may have changed.
func (s *Store) unchanged() error {
	if s.mode != asItIs {
		return nil
	}
	now, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("look at the file again: %w", err)
	}
	if s.logged() || now.Size() != s.before.Size() || !now.ModTime().Equal(s.before.ModTime()) {
		return errors.New("another process has opened the file meanwhile: what was read may be wrong, read it again")
	}
	return nil
}
