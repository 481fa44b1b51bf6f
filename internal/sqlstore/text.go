package sqlstore

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlfile"
)

// both are the files of queries and checks that read the same in every dialect.
//
//go:embed queries/*.sql checks/*.sql
var both embed.FS

// Text is the content of a driver's files, and of those that all drivers share.
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
	queries, err := load(names, files, "queries")
	if err != nil {
		return t, err
	}
	t.Queries = sqlfile.NewSet(queries)
	if t.Checks, err = load(names, files, "checks"); err != nil {
		return t, err
	}
	t.Scripts, err = migrate.Parse(files, "migrations", names)
	return t, err
}

// load reads a directory of a driver's files, with the shared files of that name.
func load(names sqlfile.Names, files fs.FS, dir string) (map[string]string, error) {
	all, err := names.Load(both, dir)
	if err != nil {
		return nil, err
	}
	own, err := names.Load(files, dir)
	for name, text := range own {
		if _, shared := all[name]; shared {
			return nil, fmt.Errorf("load statements: %s/%s.sql is shared by the drivers, and a driver has its own", dir, name)
		}
		all[name] = text
	}
	return all, err
}
