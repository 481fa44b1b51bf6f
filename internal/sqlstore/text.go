package sqlstore

import (
	"io/fs"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlfile"
)

// Text is the content of a driver's files.
type Text struct {
	Queries sqlfile.Set
	Checks  map[string]string
	Scripts []migrate.Script
}

// ReadText reads the directories parts, queries, checks and migrations. schema is
// quoted already.
func ReadText(files fs.FS, schema string) (t Text, err error) {
	names, err := sqlfile.ReadNames(files, "parts", schema)
	if err != nil {
		return t, err
	}
	queries, err := names.Load(files, "queries")
	if err != nil {
		return t, err
	}
	t.Queries = sqlfile.NewSet(queries)
	if t.Checks, err = names.Load(files, "checks"); err != nil {
		return t, err
	}
	t.Scripts, err = migrate.Parse(files, "migrations", names)
	return t, err
}
