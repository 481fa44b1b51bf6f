package migrate

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/headrace/headrace/store"
)

// remedy says what to run on a database that lacks migrations.
func remedy(schema string) string {
	return fmt.Sprintf("run `%s`, or call Migrate(ctx) on the store", Command("migrate up", schema))
}

// bare matches text that a shell takes as one word.
var bare = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// Command returns a command of headrace for tables in schema, to be pasted into a shell;
// "" is the command's default schema.
func Command(words, schema string) string {
	switch {
	case schema == "":
	case bare.MatchString(schema):
		words += " --schema " + schema
	default:
		words += " --schema '" + strings.ReplaceAll(schema, "'", `'\''`) + "'"
	}
	return "headrace " + words
}

// Check returns nil if the database has exactly these scripts, and otherwise an
// error that matches store.ErrSchema and says what to run. It changes nothing.
func Check(ctx context.Context, b Book, scripts []Script) error {
	applied, err := b.Applied(ctx)
	if err != nil {
		return fmt.Errorf("check the schema: %w", err)
	}
	if len(applied) == 0 {
		return fmt.Errorf("%w: there are no headrace tables: %s", store.ErrSchema, remedy(b.Schema()))
	}
	if err := compare(scripts, applied, b.Schema()); err != nil {
		return err
	}
	if len(applied) < len(scripts) {
		return fmt.Errorf("%w: the database is at version %d and this build needs %d: %s",
			store.ErrSchema, len(applied), len(scripts), remedy(b.Schema()))
	}
	return nil
}

// compare rejects a database that cannot be brought to scripts by applying the last of
// them: it is newer, has a gap, or was made by a script with other content.
func compare(scripts []Script, applied []Applied, schema string) error {
	for i, a := range applied {
		if a.Version != i+1 {
			return fmt.Errorf("%w: migration %04d is recorded and %04d is not: restore the table headrace_migrations, then %s",
				store.ErrSchema, a.Version, i+1, remedy(schema))
		}
	}
	if len(applied) > len(scripts) {
		return fmt.Errorf("%w: the database is at version %d and this build knows %d: use a newer build of headrace",
			store.ErrSchema, len(applied), len(scripts))
	}
	for i, a := range applied {
		if a.Checksum != scripts[i].Checksum {
			return fmt.Errorf("%w: migration %04d_%s is not what was applied on %s: use the build that applied it; `%s` lists them",
				store.ErrSchema, a.Version, scripts[i].Name, a.At.UTC().Format("2006-01-02"), Command("migrate status", schema))
		}
	}
	return nil
}
