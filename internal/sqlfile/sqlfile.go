package sqlfile

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// token stands for the quoted name of the schema.
const token = "{{schema}}"

// Load reads every *.sql file of dir, and returns name → statement, the name
// without its ending. schema is what {{schema}} becomes: quoted already.
func Load(fsys fs.FS, dir, schema string) (map[string]string, error) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.sql"))
	if err != nil {
		return nil, fmt.Errorf("load statements: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("load statements: no *.sql in %q", dir)
	}
	statements := make(map[string]string, len(files))
	for _, file := range files {
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, fmt.Errorf("load statements: %w", err)
		}
		statement, err := Substitute(string(text), schema)
		if err != nil {
			return nil, fmt.Errorf("load statements: %s: %w", file, err)
		}
		statements[strings.TrimSuffix(path.Base(file), ".sql")] = statement
	}
	return statements, nil
}

// Substitute puts schema, quoted already, where text says {{schema}}. Any other
// token in text is an error.
func Substitute(text, schema string) (string, error) {
	parts := strings.Split(text, token)
	for _, part := range parts {
		if strings.Contains(part, "{{") || strings.Contains(part, "}}") {
			return "", fmt.Errorf("a token other than %s", token)
		}
	}
	return strings.Join(parts, schema), nil
}

// Get returns the statement of that name. It panics where there is none: call it
// when a store is made, never in a method that runs statements.
func Get(statements map[string]string, name string) string {
	statement, ok := statements[name]
	if !ok {
		panic("sqlfile: no statement " + name)
	}
	return statement
}

// Says returns the comment at the top of a statement, its lines joined by spaces
// and without their dashes.
func Says(statement string) string {
	var words []string
	for line := range strings.Lines(statement) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "--")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	return strings.Join(words, " ")
}
