package migrate

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/store"
)

// remedy is what to run on a database that lacks something.
const remedy = "run `headrace migrate up`, or call Migrate(ctx) on the store"

// Check returns nil if the database has exactly these scripts, and otherwise an
// error that matches store.ErrSchema and says what to run. It changes nothing.
func Check(ctx context.Context, b Book, scripts []Script) error {
	applied, err := b.Applied(ctx)
	if err != nil {
		return fmt.Errorf("check the schema: %w", err)
	}
	if len(applied) == 0 {
		return fmt.Errorf("%w: there are no headrace tables: %s", store.ErrSchema, remedy)
	}
	if err := compare(scripts, applied); err != nil {
		return err
	}
	if len(applied) < len(scripts) {
		return fmt.Errorf("%w: the database is at version %d and this build needs %d: %s",
			store.ErrSchema, len(applied), len(scripts), remedy)
	}
	return nil
}

// compare refuses a database that cannot be brought to scripts by applying the
// last of them: it is newer, has a gap, or was made by a script that said
// something else.
func compare(scripts []Script, applied []Applied) error {
	for i, a := range applied {
		if a.Version != i+1 {
			return fmt.Errorf("%w: migration %04d is recorded and %04d is not: restore the table headrace_migrations, then %s",
				store.ErrSchema, a.Version, i+1, remedy)
		}
	}
	if len(applied) > len(scripts) {
		return fmt.Errorf("%w: the database is at version %d and this build knows %d: use a newer build of headrace",
			store.ErrSchema, len(applied), len(scripts))
	}
	for i, a := range applied {
		if a.Checksum != scripts[i].Checksum {
			return fmt.Errorf("%w: migration %04d_%s is not what was applied on %s: use the build that applied it; `headrace migrate status` lists them",
				store.ErrSchema, a.Version, scripts[i].Name, a.At.UTC().Format("2006-01-02"))
		}
	}
	return nil
}
