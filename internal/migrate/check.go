package migrate

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/headrace/headrace/store"
)

// remedy says what to run on a database that lacks migrations.
func remedy(schema string) string {
	return fmt.Sprintf("run `%s`, or call Migrate(ctx) on the store", Command("migrate up", schema))
}

// bare matches text that a shell takes as one word.
var bare = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// Quote returns text as one word of a shell's command line. What a terminal does not print is
// written as bash and zsh read it.
func Quote(text string) string {
	if bare.MatchString(text) {
		return text
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "$'" + escaped(text) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// escaped is text for $'…', with all bytes that are no printed ASCII as numbers.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Command returns a command of headrace for tables in schema, to be pasted into a shell;
// "" is the command's default schema.
func Command(words, schema string) string {
	if schema != "" {
		words += " --schema " + Quote(schema)
	}
	return "headrace " + words
}

// Check returns nil if a build with these scripts can run on the database, and otherwise
// an error that matches store.ErrSchema and says what to run. It changes nothing.
func Check(ctx context.Context, h History, scripts []Script) error {
	row, err := h.Meta(ctx)
	if err == nil {
		err = Fits(row, scripts, h.Schema())
	}
	return err
}

// refused reports whether a build with these scripts must leave the tables alone.
func refused(row store.Meta, scripts []Script) bool {
	return row.ReadableFrom > len(scripts) || otherTables(row, scripts)
}

// otherTables reports whether other statements than the first script's have made the tables.
func otherTables(row store.Meta, scripts []Script) bool {
	return row.Version > 0 && row.Fingerprint != scripts[0].Fingerprint
}

// Fits returns nil if a build with these scripts can run on a schema, and otherwise an error
// that matches store.ErrSchema and says what to run.
func Fits(row store.Meta, scripts []Script, schema string) error {
	switch build := len(scripts); {
	case row.Version == 0:
		return fmt.Errorf("%w: there are no headrace tables: %s", store.ErrSchema, remedy(schema))
	case row.ReadableFrom > build:
		return fmt.Errorf("%w: the database is at version %d, which only builds of version %d or later can read, and this build is of version %d: use a newer build of headrace",
			store.ErrSchema, row.Version, row.ReadableFrom, build)
	case otherTables(row, scripts):
		return fmt.Errorf("%w: the tables were made by another build of this pre-release: use that build; or drop the tables headrace_*, after which what is delivered again is applied again, and %s",
			store.ErrSchema, remedy(schema))
	case row.Version < build:
		return fmt.Errorf("%w: the database is at version %d and this build needs %d: %s", store.ErrSchema, row.Version, build, remedy(schema))
	}
	return nil
}
