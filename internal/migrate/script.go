package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"

	"github.com/headrace/headrace/internal/sqlfile"
)

// Script is a migration from its file.
type Script struct {
	Version int
	Name    string
	// SQL may hold many statements. The tokens are replaced.
	SQL string
	// Checksum is over the file, so that it is the same in every schema.
	Checksum string
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
		statements, err := names.Substitute(string(text))
		if err != nil {
			return nil, fmt.Errorf("read migrations: %s: %w", file.Name(), err)
		}
		sum := sha256.Sum256(text)
		scripts = append(scripts, Script{Version: i + 1, Name: parts[2], SQL: statements, Checksum: hex.EncodeToString(sum[:])})
	}
	return scripts, nil
}
