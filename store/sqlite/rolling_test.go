package sqlite

import (
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// A newer release migrates while this one runs.
//
//evidence:rolling
func TestRolling(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	newer := openAt(t, path, Options{Migrate: true})
	storetest.Rolling(t, storetest.Release{
		Open: func() (store.Store, error) {
			s, err := Open(t.Context(), path, Options{})
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { _ = s.Close() })
			return s, nil
		},
		Migrate: func(more map[string]string) error {
			text, err := files.ReadFile("migrations/0001_schema.sql")
			if err != nil {
				return err
			}
			all := fstest.MapFS{"migrations/0001_schema.sql": {Data: text}}
			for name, text := range more {
				all["migrations/"+name] = &fstest.MapFile{Data: []byte(text)}
			}
			names, err := sqlfile.ReadNames(files, "parts", schema)
			if err != nil {
				return err
			}
			if newer.text.Scripts, err = migrate.Parse(all, "migrations", names); err != nil {
				return err
			}
			_, err = newer.Migrate(t.Context())
			return err
		},
		Index: "CREATE INDEX {{schema}}.headrace_inbox_test ON headrace_inbox (fingerprint);\nUPDATE {{schema}}.headrace_meta SET version = 3;\n",
	})
}
