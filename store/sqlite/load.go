package sqlite

import (
	"embed"

	"github.com/headrace/headrace/internal/sqlfile"
)

//go:embed migrations/*.sql queries/*.sql checks/*.sql
var files embed.FS

// schema is what {{schema}} becomes: the name that SQLite gives the file that a
// connection was opened on.
const schema = `"main"`

// maxStatements bounds the cache of prepared statements: those of the store, and
// of the handlers.
const maxStatements = 256

// queries are the statements by their file's name.
type queries map[string]string

func loadQueries() (queries, error) { return sqlfile.Load(files, "queries", schema) }

// get returns a statement; it panics where there is none.
func (q queries) get(name string) string { return sqlfile.Get(q, name) }

func (s *Store) load() error {
	q, err := loadQueries()
	if err != nil {
		return err
	}
	if s.book, err = newBook(s.read, s); err != nil {
		return err
	}
	if s.checks, err = loadChecks(); err != nil {
		return err
	}
	s.ping = q.get("ping")
	s.inbox = newInbox(s, q)
	s.backlog = newBacklog(s, q)
	s.order = newOrder(q)
	s.leases = newLeases(s, q)
	s.outbox = newOutbox(s, q)
	s.letters = newLetters(s, q)
	s.alerts = newAlerts(s, q)
	s.versions = newVersions(q)
	s.instances = newInstances(s, q)
	s.pauses = newPauses(s, q)
	s.prune = newPrune(s, q)
	return nil
}
