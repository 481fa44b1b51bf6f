package sqlite

import (
	"embed"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlops"
	"github.com/headrace/headrace/internal/sqlstore"
	"github.com/headrace/headrace/store"
)

//go:embed parts/*.sql migrations/*.sql queries/*.sql checks/*.sql
var files embed.FS

// schema replaces {{schema}}: SQLite's name for the file that a connection was opened on.
const schema = `"main"`

// maxStatements bounds the cache of prepared statements of store and handlers.
const maxStatements = 256

// load reads the statements.
func (s *Store) load(outboxName string) (err error) {
	if s.text, err = sqlstore.ReadText(files, schema); err != nil {
		return err
	}
	q := s.text.Queries
	s.history = history{migrate.NewMeta(q, ""), s.read, s}
	s.ping, s.alive, s.take = q.Get("ping"), q.Get("txn_alive"), q.Get("sequences_take")
	insert, insertDelayed := q.Get("outbox_insert"), q.Get("outbox_insert_delayed")
	s.tables = sqlstore.New(dialect{s}, q, sqlstore.Options{
		Scripts: s.text.Scripts, Name: outboxName, Floors: func() sqlstore.Floors { return sqlstore.NoFloors{} },
		Inbox: func(shared *sqlstore.Inbox) inbox.Store {
			in := &inboxStore{Inbox: shared}
			q.Fill("inbox", &in.sql)
			return in
		},
		Outbox: func(shared *sqlstore.Outbox) store.Outbox { return &outboxStore{shared, insert, insertDelayed, s.take} },
		Pruner: func(shared *sqlops.Rounds) inbox.Pruner {
			p := &pruneStore{Rounds: shared}
			q.Fill("prune", &p.sql)
			return p
		},
	})
	return nil
}
