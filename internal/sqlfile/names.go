package sqlfile

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// The tokens of a file.
const (
	open, shut  = "{{", "}}"
	schemaName  = "schema"
	schemaToken = open + schemaName + shut
)

// Names are the replacements of the tokens.
type Names struct {
	// Schema replaces {{schema}}; it is quoted already.
	Schema string
	// Parts replace the tokens of their names: {{now}} is an expression for the time. A token
	// without a part is an error.
	Parts map[string]string
}

// ReadNames returns the names of a schema, quoted already, with the parts in the files of dir,
// each after its comment. A part has no token but {{schema}}.
func ReadNames(fsys fs.FS, dir, schema string) (Names, error) {
	n := Names{Schema: schema}
	files, err := n.Load(fsys, dir)
	if err != nil {
		return Names{}, fmt.Errorf("read the parts of statements: %w", err)
	}
	n.Parts = make(map[string]string, len(files))
	for name, text := range files {
		var lines []string
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "--") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		n.Parts[name] = strings.Join(lines, " ")
	}
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
	var out strings.Builder
	for rest := text; rest != ""; {
		plain, after, found := strings.Cut(rest, open)
		token, next, closed := strings.Cut(after, shut)
		value, known := n.replacement(token)
		if strings.Contains(plain, shut) || found && (!closed || !known) {
			return "", fmt.Errorf("a token other than %s and those of the parts %q", schemaToken, slices.Sorted(maps.Keys(n.Parts)))
		}
		out.WriteString(plain)
		if found {
			out.WriteString(value)
		}
		rest = next
	}
	return out.String(), nil
}

// replacement is the text that replaces a token.
func (n Names) replacement(token string) (text string, known bool) {
	if token == schemaName {
		return n.Schema, true
	}
	text, known = n.Parts[token]
	return text, known
}
