package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// absolute returns the absolute form of path, or an error if it cannot be a store's file.
func absolute(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("the path is empty")
	case filepath.Base(path) == ":memory:":
		return "", errors.New("an in-memory database is one database for each connection; use a temporary file")
	case strings.HasPrefix(path, "file:"):
		return "", fmt.Errorf("%q is a URI; give the path of the file, and a temporary file instead of memdb or mode=memory", path)
	case strings.ContainsRune(path, 0):
		return "", errors.New("the path holds a NUL character")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the file: %w", err)
	}
	return abs, nil
}

// uri returns the URI of the file, as SQLite reads it. It is escaped, so the path may
// contain ?, # and %.
func uri(abs, mode string, pragmas ...string) string {
	p := filepath.ToSlash(abs)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a volume on Windows
	}
	values := url.Values{"mode": {mode}, "_pragma": pragmas}
	if mode == asItIs {
		values.Set("mode", "ro")
		values.Set("immutable", "1")
	}
	return "file://" + (&url.URL{Path: p}).EscapedPath() + "?" + values.Encode()
}

// pragmas are the settings of every connection. The driver always sets busy_timeout
// first: changing the journal mode takes a lock.
func pragmas(busy time.Duration, more ...string) []string {
	return append([]string{
		"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")",
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
		"journal_size_limit(67108864)", // shrinks the log after a burst
	}, more...)
}
