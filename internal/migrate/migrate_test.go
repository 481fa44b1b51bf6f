package migrate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store"
)

// shelf is a Book in memory. fail is the version whose script fails.
type shelf struct {
	schema  string
	applied []migrate.Applied
	locks   int
	fail    int
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func (s *shelf) Schema() string { return s.schema }

func (s *shelf) Applied(context.Context) ([]migrate.Applied, error) { return s.applied, nil }

func (s *shelf) Locked(_ context.Context, f func(migrate.Session) error) error {
	s.locks++
	before := s.applied
	if err := f(s); err != nil {
		s.applied = before
		return err
	}
	return nil
}

func (s *shelf) Apply(_ context.Context, m migrate.Script) (time.Time, error) {
	if m.Version == s.fail {
		return time.Time{}, errors.New("no such type")
	}
	s.applied = append(s.applied, migrate.Applied{Version: m.Version, Name: m.Name, Checksum: m.Checksum, At: noon})
	return noon, nil
}

func parse(t *testing.T, files fstest.MapFS) []migrate.Script {
	t.Helper()
	scripts, err := migrate.Parse(files, "migrations", sqlfile.Names{Schema: `"s"`})
	if err != nil {
		t.Fatal(err)
	}
	return scripts
}

func three() fstest.MapFS {
	return fstest.MapFS{
		"migrations/0001_inbox.sql":  {Data: []byte("CREATE TABLE {{schema}}.inbox ()")},
		"migrations/0002_outbox.sql": {Data: []byte("CREATE TABLE {{schema}}.outbox ()")},
		"migrations/0003_audit.sql":  {Data: []byte("CREATE TABLE {{schema}}.audit ()")},
	}
}

func TestUp(t *testing.T) {
	scripts, s := parse(t, three()), &shelf{}
	done, err := migrate.Up(t.Context(), s, scripts)
	if err != nil || len(done) != 3 || done[2].Name != "audit" || !done[2].Applied || done[2].At != noon {
		t.Fatalf("%+v, %v", done, err)
	}
	if done[0].SQL != `CREATE TABLE "s".inbox ()` {
		t.Errorf("ran %q", done[0].SQL)
	}
	if err := migrate.Check(t.Context(), s, scripts); err != nil {
		t.Error(err)
	}
	// A role that may not create anything can open a store that needs nothing.
	s.locks = 0
	if done, err := migrate.Up(t.Context(), s, scripts); err != nil || len(done) != 0 || s.locks != 0 {
		t.Errorf("again: %+v, %v, %d locks", done, err, s.locks)
	}
}

// What was applied before a failure stays, and is reported beside the error.
func TestUpStopsAtAFailure(t *testing.T) {
	scripts, s := parse(t, three()), &shelf{fail: 2}
	done, err := migrate.Up(t.Context(), s, scripts)
	if err == nil || !strings.Contains(err.Error(), "0002_outbox") || len(done) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	list, err := migrate.List(t.Context(), s, scripts)
	if err != nil || len(list) != 3 || !list[0].Applied || list[1].Applied || list[2].Name != "audit" {
		t.Errorf("%+v, %v", list, err)
	}
	s.fail = 0
	if done, err := migrate.Up(t.Context(), s, scripts); err != nil || len(done) != 2 {
		t.Errorf("the rest: %+v, %v", done, err)
	}
}

// INVARIANTS 3: 60. A database that does not fit is refused by what to do about it.
func TestSchemaErrors(t *testing.T) {
	scripts := parse(t, three())
	whole := &shelf{}
	if _, err := migrate.Up(t.Context(), whole, scripts); err != nil {
		t.Fatal(err)
	}
	edited := three()
	edited["migrations/0002_outbox.sql"].Data = []byte("CREATE TABLE {{schema}}.outbox (id int)")
	for name, c := range map[string]struct {
		applied []migrate.Applied
		scripts []migrate.Script
		says    string
		// mendable: Up brings the database to the scripts.
		mendable bool
	}{
		"missing": {nil, scripts, "headrace migrate up", true},
		"older":   {whole.applied[:2], scripts, "headrace migrate up", true},
		"newer":   {whole.applied, scripts[:2], "newer build", false},
		"changed": {whole.applied, parse(t, edited), "0002_outbox", false},
		"gap":     {append([]migrate.Applied{}, whole.applied[0], whole.applied[2]), scripts, "0003", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{applied: c.applied}
			err := migrate.Check(t.Context(), s, c.scripts)
			if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Check: %v", err)
			}
			s.schema = `it's "own"`
			err = migrate.Check(t.Context(), s, c.scripts)
			if want := ` --schema 'it'\''s "own"'`; strings.Contains(err.Error(), "`headrace") && !strings.Contains(err.Error(), want) {
				t.Errorf("Check of a schema: %v lacks %s", err, want)
			}
			_, err = migrate.Up(t.Context(), s, c.scripts)
			if c.mendable != (err == nil) || !c.mendable && !errors.Is(err, store.ErrSchema) {
				t.Errorf("Up: %v", err)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	for schema, want := range map[string]string{
		"": "headrace check", "orders_2": "headrace check --schema orders_2", "-x": "headrace check --schema '-x'", "a b": "headrace check --schema 'a b'",
	} {
		if got := migrate.Command("check", schema); got != want {
			t.Errorf("%q: %s, want %s", schema, got, want)
		}
	}
}

// The checksum is over the file: the same in every schema.
func TestChecksum(t *testing.T) {
	one := parse(t, three())
	other, err := migrate.Parse(three(), "migrations", sqlfile.Names{Schema: `"other"`})
	if err != nil {
		t.Fatal(err)
	}
	if one[0].Checksum != other[0].Checksum || one[0].Checksum == one[1].Checksum {
		t.Error("checksums do not follow the files")
	}
}

func TestParseRefuses(t *testing.T) {
	for name, file := range map[string]string{
		"gap": "0005_late.sql", "twice": "0003_bis.sql", "zero": "0000_first.sql",
		"no number": "audit.sql", "three digits": "004_more.sql", "upper case": "0004_More.sql", "other": "README.md",
	} {
		t.Run(name, func(t *testing.T) {
			files := three()
			files["migrations/"+file] = &fstest.MapFile{Data: []byte("SELECT 1")}
			if _, err := migrate.Parse(files, "migrations", sqlfile.Names{Schema: "s"}); err == nil {
				t.Error("no error")
			}
		})
	}
	files := three()
	files["migrations/0003_audit.sql"].Data = []byte("CREATE TABLE {{table}} ()")
	if _, err := migrate.Parse(files, "migrations", sqlfile.Names{Schema: "s"}); err == nil {
		t.Error("another token: no error")
	}
}
