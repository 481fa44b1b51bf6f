package sqlfile

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// The tokens of a file.
const (
	schemaToken = "{{schema}}"
	nowToken    = "{{now}}"
)

// Names are the replacements of the tokens.
type Names struct {
	// Schema replaces {{schema}}; it is quoted already.
	Schema string
	// Now replaces {{now}}: an expression for the time. If it is empty, a file with the
	// token is an error.
	Now string
}

// ReadNames returns the names of a schema, quoted already, with the expression for the
// time from file, after its comment.
func ReadNames(fsys fs.FS, file, schema string) (Names, error) {
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return Names{}, fmt.Errorf("read the expression for the time: %w", err)
	}
	n := Names{Schema: schema}
	now, err := n.Substitute(string(text))
	if err != nil {
		return Names{}, fmt.Errorf("read the expression for the time: %s: %w", file, err)
	}
	var lines []string
	for line := range strings.Lines(now) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	n.Now = strings.Join(lines, " ")
	return n, nil
}

// Load reads every *.sql file of dir, and returns name → statement; the name has no
// extension.
func (n Names) Load(fsys fs.FS, dir string) (map[string]string, error) {
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
		statement, err := n.Substitute(string(text))
		if err != nil {
			return nil, fmt.Errorf("load statements: %s: %w", file, err)
		}
		statements[strings.TrimSuffix(path.Base(file), ".sql")] = statement
	}
	return statements, nil
}

// Substitute replaces the tokens in text. Any other token is an error.
func (n Names) Substitute(text string) (string, error) {
	names, blanks := []string{schemaToken, n.Schema}, []string{schemaToken, " "}
	if n.Now != "" {
		names, blanks = append(names, nowToken, n.Now), append(blanks, nowToken, " ")
	}
	rest := strings.NewReplacer(blanks...).Replace(text)
	if strings.Contains(rest, "{{") || strings.Contains(rest, "}}") {
		return "", fmt.Errorf("a token other than %s and %s", schemaToken, nowToken)
	}
	return strings.NewReplacer(names...).Replace(text), nil
}
