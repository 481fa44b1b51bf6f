package sqlfile

import (
	"io/fs"
	"strings"
)

// Load is Names.Load for files without {{now}}. schema replaces {{schema}}; it is quoted
// already.
func Load(fsys fs.FS, dir, schema string) (map[string]string, error) {
	return Names{Schema: schema}.Load(fsys, dir)
}

// Get returns the statement of that name. It panics if there is none: call it when a
// store is made, never in a method that runs statements.
func Get(statements map[string]string, name string) string {
	statement, ok := statements[name]
	if !ok {
		panic("sqlfile: no statement " + name)
	}
	return statement
}

// Bare returns a statement without the comment at its top, for one that the server is sent each time.
func Bare(statement string) string {
	for strings.HasPrefix(statement, "--") {
		_, statement, _ = strings.Cut(statement, "\n")
	}
	return strings.TrimSpace(statement)
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
