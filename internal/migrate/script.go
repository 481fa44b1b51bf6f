package migrate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/sqlfile"
)

// Script is a migration from its file.
type Script struct {
	Version int
	Name    string
	// SQL may hold many statements. The tokens are replaced.
	SQL string
	// Concurrent says that the statements run one by one, outside of a transaction, to
	// build indexes: the file has the line "-- concurrent". A statement ends with its line.
	Concurrent bool
	// Fingerprint is that of the statements if the file records it ({{fingerprint}}); "" otherwise.
	Fingerprint string
}

// parts returns the texts to send, one after the other.
func (s Script) parts() []string {
	if !s.Concurrent {
		return []string{s.SQL}
	}
	return slices.DeleteFunc(strings.SplitAfter(s.SQL, ";\n"), func(part string) bool { return strings.TrimSpace(part) == "" })
}

var concurrent = regexp.MustCompile(`(?m)^-- concurrent$`)

var fingerprintToken = []byte("{{fingerprint}}")

// fingerprint is that of what makes the tables: without comments and space.
func fingerprint(text []byte) string {
	hash := sha256.New()
	for line := range bytes.Lines(text) {
		statement, _, _ := bytes.Cut(line, []byte("--"))
		for word := range bytes.FieldsSeq(statement) {
			_, _ = hash.Write(word) // a hash never fails
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

var fileName = regexp.MustCompile(`^(\d{4})_([a-z0-9_]+)\.sql$`)

// Parse reads the scripts of dir, by version. Every file of dir must be named
// NNNN_name.sql, from 0001 and without gaps.
func Parse(fsys fs.FS, dir string, names sqlfile.Names) ([]Script, error) {
	files, err := fs.ReadDir(fsys, dir) // by name, and so by version
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	scripts := make([]Script, 0, len(files))
	for i, file := range files {
		parts := fileName.FindStringSubmatch(file.Name())
		if parts == nil {
			return nil, fmt.Errorf("read migrations: %s is not named NNNN_name.sql", file.Name())
		}
		if version, _ := strconv.Atoi(parts[1]); version != i+1 {
			return nil, fmt.Errorf("read migrations: %s is at the place of %04d", file.Name(), i+1)
		}
		text, err := fs.ReadFile(fsys, path.Join(dir, file.Name()))
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		print := ""
		if bytes.Contains(text, fingerprintToken) {
			print = fingerprint(text)
			text = bytes.ReplaceAll(text, fingerprintToken, []byte(print))
		}
		statements, err := names.Substitute(string(text))
		if err != nil {
			return nil, fmt.Errorf("read migrations: %s: %w", file.Name(), err)
		}
		if all := strings.Count(statements, " CONCURRENTLY "); all != 2*strings.Count(statements, " CONCURRENTLY IF EXISTS ") {
			return nil, fmt.Errorf("read migrations: %s: an index that is built concurrently must be dropped before that, if it exists: an earlier try may have left it invalid", file.Name())
		}
		scripts = append(scripts, Script{Version: i + 1, Name: parts[2], SQL: statements, Concurrent: concurrent.Match(text), Fingerprint: print})
	}
	return scripts, nil
}
