package migrate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store"
)

// shelf is a History in memory. fail is the version whose script fails.
type shelf struct {
	schema string
	row    store.Meta
	locks  int
	fail   int
}

func (s *shelf) Schema() string { return s.schema }

func (s *shelf) Meta(context.Context) (store.Meta, error) { return s.row, nil }

func (s *shelf) Locked(_ context.Context, f func(store.Meta, func(migrate.Script) error) error) error {
	s.locks++
	return f(s.row, s.apply)
}

func (s *shelf) apply(m migrate.Script) error {
	if m.Version == s.fail {
		return errors.New("no such type")
	}
	s.row.Version, s.row.ReadableFrom = m.Version, 1
	return nil
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
	if err != nil || len(done) != 3 || done[2].Name != "audit" || !done[2].Applied {
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
	for name, c := range map[string]struct {
		row  store.Meta
		says string
		// mendable: Up brings the database to the scripts.
		mendable bool
	}{
		"missing":     {store.Meta{}, "headrace migrate up", true},
		"older":       {store.Meta{Version: 2, ReadableFrom: 1}, "headrace migrate up", true},
		"left behind": {store.Meta{Version: 5, ReadableFrom: 4}, "newer build", false},
		"pre-release": {store.Meta{Version: 3, ReadableFrom: 1, Fingerprint: "other"}, "drop the tables headrace_*", false},
		"not yet":     {store.Meta{Version: 2, ReadableFrom: 1, Fingerprint: "other"}, "drop the tables headrace_*", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{row: c.row}
			err := migrate.Check(t.Context(), s, scripts)
			if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Check: %v", err)
			}
			s.schema = `it's "own"`
			err = migrate.Check(t.Context(), s, scripts)
			if want := ` --schema 'it'\''s "own"'`; strings.Contains(err.Error(), "`headrace") && !strings.Contains(err.Error(), want) {
				t.Errorf("Check of a schema: %v lacks %s", err, want)
			}
			_, err = migrate.Up(t.Context(), s, scripts)
			if c.mendable != (err == nil) || !c.mendable && !errors.Is(err, store.ErrSchema) {
				t.Errorf("Up: %v", err)
			}
		})
	}
}

// A build runs on a schema of newer builds that it can still read, and changes nothing.
func TestNewerSchemaIsReadable(t *testing.T) {
	scripts, s := parse(t, three()), &shelf{row: store.Meta{Version: 5, ReadableFrom: 3}}
	if err := migrate.Check(t.Context(), s, scripts); err != nil {
		t.Error(err)
	}
	if done, err := migrate.Up(t.Context(), s, scripts); err != nil || len(done) != 0 || s.locks != 0 || s.row.Version != 5 {
		t.Errorf("%+v, %v, %d locks, %+v", done, err, s.locks, s.row)
	}
	list, err := migrate.List(t.Context(), s, scripts)
	if err != nil || len(list) != 3 || !list[2].Applied {
		t.Errorf("%+v, %v", list, err)
	}
}

// A fingerprint is that of what makes the tables, and of nothing else.
func TestFingerprint(t *testing.T) {
	prints := make(map[string]string)
	for name, text := range map[string]string{
		"the table":   "CREATE TABLE {{schema}}.meta (f text DEFAULT '{{fingerprint}}');\n",
		"its comment": "-- What a row is.\nCREATE TABLE {{schema}}.meta (\n    f text DEFAULT '{{fingerprint}}'); -- of this\n",
		"a column":    "CREATE TABLE {{schema}}.meta (f text DEFAULT '{{fingerprint}}', g text);\n",
	} {
		s := parse(t, fstest.MapFS{"migrations/0001_schema.sql": {Data: []byte(text)}})[0]
		if prints[name] = s.Fingerprint; len(s.Fingerprint) != 16 || !strings.Contains(s.SQL, "'"+s.Fingerprint+"'") {
			t.Errorf("%s: %q in %s", name, s.Fingerprint, s.SQL)
		}
	}
	if prints["the table"] != prints["its comment"] || prints["the table"] == prints["a column"] {
		t.Errorf("%q", prints)
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

// An index is built outside of a transaction, where its file says so; what an earlier try
// left behind is dropped first.
func TestParseConcurrent(t *testing.T) {
	const build = "CREATE INDEX CONCURRENTLY outbox_topic ON {{schema}}.outbox (topic);\n"
	files := three()
	files["migrations/0002_outbox.sql"].Data = []byte("-- Finds a topic.\n-- concurrent\nDROP INDEX CONCURRENTLY IF EXISTS {{schema}}.outbox_topic;\n" + build)
	if scripts := parse(t, files); scripts[0].Concurrent || !scripts[1].Concurrent {
		t.Errorf("%+v", scripts)
	}
	files["migrations/0002_outbox.sql"].Data = []byte("-- concurrent\n" + build)
	if _, err := migrate.Parse(files, "migrations", sqlfile.Names{Schema: "s"}); err == nil || !strings.Contains(err.Error(), "dropped before") {
		t.Error(err)
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
