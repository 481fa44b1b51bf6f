package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	wsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/lib/pq"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store/postgres"
)

var (
	//go:embed queries/*.sql
	queryFiles embed.FS
	//go:embed database/create.sql
	createDatabase string
	//go:embed database/drop.sql
	dropDatabase string
)

// waitTimeout bounds what is done before and after a benchmark.
const waitTimeout = time.Minute

// lab is the database of a run.
type lab struct {
	dsn     string // of the database that was made
	server  string // the DSN that was given
	name    string
	db      *sql.DB // for what is not measured
	queries map[string]string
	config  consumer.Config // of every consumer; the source comes with the benchmark

	// stands is what is in the tables now: a fixture and its number of rows.
	stands    string
	grownRows int    // of the fixture of grown
	taken     uint64 // messages of the source that the inbox of grown knows
	away      *away  // see dsnFor; nil until it is needed
	awayDSN   string
	sqlite    string // the directory of the SQLite files; "" until there is one

	started, ended func() // told when what is measured begins and ends
	// unsteady leaves out the checkpoints: in a test each would wait for the disk with what all tests beside it wrote.
	unsteady bool
}

// newLab makes a database on the server of dsn, with the tables of both sides.
func newLab(ctx context.Context, dsn string) (*lab, error) {
	u, err := url.Parse(dsn)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return nil, errors.New("the DSN must be a URL, postgres://user@host:port/database (not shown: it may hold a password)")
	}
	l, err := emptyLab()
	if err != nil {
		return nil, err
	}
	l.server, l.name = dsn, "headrace_bench_"+strings.ToLower(rand.Text())
	if err := l.onServer(ctx, createDatabase); err != nil {
		return nil, fmt.Errorf("create a database: %w", err)
	}
	u.Path = "/" + l.name
	l.dsn = u.String()
	if l.db, err = l.open(4); err == nil {
		err = l.createTables(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create tables: %w", err), l.close())
	}
	return l, nil
}

func emptyLab() (*lab, error) {
	queries, err := sqlfile.Load(queryFiles, "queries", "public")
	if err != nil {
		return nil, err
	}
	return &lab{
		queries: queries, grownRows: 10_000_000, config: consumer.Config{Logger: slog.New(slog.DiscardHandler)},
		started: func() {}, ended: func() {},
	}, nil
}

// existingLab is the lab of a child process: on a database that its parent made.
func existingLab(dsn string) (*lab, error) {
	l, err := emptyLab()
	if err != nil {
		return nil, err
	}
	l.dsn = dsn
	l.db, err = l.open(1)
	return l, err
}

// close drops the database.
func (l *lab) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	var err error
	if l.db != nil {
		err = l.db.Close()
	}
	if l.away != nil {
		l.away.close()
	}
	if l.sqlite != "" {
		err = errors.Join(err, os.RemoveAll(l.sqlite))
	}
	if drop := l.onServer(ctx, dropDatabase); drop != nil {
		err = errors.Join(err, fmt.Errorf("drop the database %s: %w", l.name, drop))
	}
	return err
}

func (l *lab) onServer(ctx context.Context, statement string) error {
	db, err := sql.Open("postgres", l.server)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, strings.ReplaceAll(statement, "{{name}}", pq.QuoteIdentifier(l.name)))
	return err
}

// open opens the database with lib/pq, and keeps that many connections.
func (l *lab) open(conns int) (*sql.DB, error) { return l.openWith(libPQ, conns) }

// query returns a statement of queries/ by its name.
func (l *lab) query(name string) string { return sqlfile.Get(l.queries, name) }

func (l *lab) createTables(ctx context.Context) error {
	st, err := postgres.Open(ctx, l.dsn, postgres.Options{Migrate: true})
	if err != nil {
		return err
	}
	if err := st.Close(); err != nil {
		return err
	}
	statements := []string{l.query("create_inbox"), l.query("create_invoices"), l.query("create_steps")}
	schema := wsql.DefaultPostgreSQLSchema{}
	for _, topic := range []string{invoicesTopic, forwarderTopic} {
		for _, q := range schema.SchemaInitializingQueries(topic) {
			statements = append(statements, q.Query)
		}
	}
	for _, q := range (wsql.DefaultPostgreSQLOffsetsAdapter{}).SchemaInitializingQueries(forwarderTopic) {
		statements = append(statements, q.Query)
	}
	for _, statement := range statements {
		if _, err := l.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// measure runs one benchmark on empty tables, or on those of its fixture.
func (l *lab) measure(ctx context.Context, b benchmark, a amount) (Figure, error) {
	setup := time.Now()
	if err := l.prepare(ctx, b.fixture, a); err != nil {
		return Figure{}, err
	}
	took := time.Since(setup)
	figure, err := b.run(ctx, l, a)
	if b.fixture != nil && err == nil {
		figure.Setup = took.Seconds()
	}
	return figure, err
}

// prepare empties the tables, and fills them with what the fixture says, unless it
// stands there from the benchmark before.
func (l *lab) prepare(ctx context.Context, f *fixture, a amount) error {
	wanted, rows := "", 0
	if f != nil {
		if rows = a.messages * max(f.times, 1); rows == 0 {
			rows = f.rows(l)
		}
		wanted = fmt.Sprintf("%d %s", rows, f.name)
	}
	if wanted != "" && wanted == l.stands {
		return nil
	}
	l.stands = ""
	if err := l.truncate(ctx); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	if f == nil {
		return l.checkpoint(ctx)
	}
	if err := f.fill(ctx, l, rows); err != nil {
		return fmt.Errorf("fill the tables: %w", err)
	}
	l.stands = wanted
	return l.checkpoint(ctx)
}

// truncate empties the tables. It tries again after a deadlock: the server may not yet have
// ended the transactions of a process that was killed.
func (l *lab) truncate(ctx context.Context) error {
	for {
		_, err := l.db.ExecContext(ctx, l.query("truncate"))
		var failed *pq.Error
		if !errors.As(err, &failed) || failed.Code != "40P01" {
			return err
		}
	}
}

// checkpoint writes what came before to the disk. Only some roles may; without it the
// figures are a little less steady.
func (l *lab) checkpoint(ctx context.Context) error {
	if l.unsteady {
		return nil
	}
	var refused *pq.Error
	if _, err := l.db.ExecContext(ctx, l.query("checkpoint")); err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// version is the server's; "" where it does not say.
func (l *lab) version(ctx context.Context) string {
	var version string
	_ = l.db.QueryRowContext(ctx, l.query("version")).Scan(&version)
	return version
}
