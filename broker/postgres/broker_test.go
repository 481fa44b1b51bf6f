package postgres_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	_ "github.com/lib/pq" // driver "postgres"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/postgres"
	"github.com/headrace/headrace/tests/torture/cluster"
)

const (
	variable = "HEADRACE_TEST_POSTGRES"
	// schema is that of all tests and their children; topics are new in each.
	schema = "headrace_broker_test"
	group  = "suite"
)

// server is the real PostgreSQL, with plain SQL as the foreign client.
type server struct{ dsn string }

var _ brokertest.Broker = server{}

func TestMain(m *testing.M) { brokertest.Main(m, server{os.Getenv(variable)}) }

func setup(t *testing.T) server {
	t.Helper()
	s := server{brokertest.Variable(t, variable, "postgres")}
	if err := s.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s server) create(ctx context.Context) error {
	return s.with(func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS `+schema); err != nil {
			return err
		}
		return postgres.Create(ctx, db, schema)
	})
}

// newCluster returns a server of the test's own, with its directory. The error matches cluster.ErrNone; in CI it fails
// the test.
func newCluster(t *testing.T) (c *cluster.Cluster, dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // its owner is another user where we are root
		t.Fatal(err)
	}
	c, err = cluster.New(t.Context(), dir)
	if errors.Is(err, cluster.ErrNone) && os.Getenv("CI") != "true" {
		return nil, "", err
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop(context.Background(), "immediate") })
	return c, dir, nil
}

// TestConformance has a server of its own, that it can be crashed without a harm to other
// packages; where PostgreSQL is not installed, only the connections are terminated.
//
//evidence:postgres-queue
func TestConformance(t *testing.T) {
	brokertest.Variable(t, variable, "postgres")
	if own, _, err := newCluster(t); err != nil {
		t.Logf("the server is not crashed: %v", err)
	} else {
		t.Setenv(variable, own.DSN("postgres")) // for children too
		// A crash forgets all that did not wait for the disk, and not only what came last.
		for _, statement := range []string{`ALTER SYSTEM SET wal_writer_delay = '10s'`, `SELECT pg_reload_conf()`} {
			err := server{own.DSN("postgres")}.with(func(db *sql.DB) error {
				_, err := db.ExecContext(t.Context(), statement)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		crash = func(ctx context.Context) error { return errors.Join(own.Stop(ctx, "immediate"), own.Start(ctx)) }
		t.Cleanup(func() { crash = nil })
	}
	brokertest.Run(t, setup(t))
}

// crash stops the server without a checkpoint and starts it; nil where it is not ours.
var crash func(context.Context) error

const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '` + schema + `' AND pid <> pg_backend_pid()`

func (s server) restart(ctx context.Context) error {
	if crash != nil {
		return crash(ctx)
	}
	return s.with(func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, terminate)
		return err
	})
}

// Features implements brokertest.Broker.
func (s server) Features() brokertest.Features {
	return brokertest.Features{
		Name: "postgres", Redelivery: time.Second, InFlight: 256, Ordered: true, Keys: true, Tombstones: true, Hostile: s.hostile(), Restart: s.restart,
		Delete: func(ctx context.Context, topic string) error {
			return s.with(func(db *sql.DB) error { return postgres.Remove(ctx, db, schema, topic, group) })
		},
	}
}

func (s server) with(f func(*sql.DB) error) error {
	db, err := sql.Open("postgres", s.dsn)
	if err != nil {
		return err
	}
	return errors.Join(f(db), db.Close())
}

func (s server) open(addr string) (*sql.DB, error) {
	u, err := url.Parse(s.dsn)
	if err != nil {
		return nil, err
	}
	if addr != "" {
		u.Host = addr
	}
	values := u.Query()
	values.Set("application_name", schema) // by which restart knows them
	u.RawQuery = values.Encode()
	db, err := sql.Open("postgres", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return db, nil
}

// Create implements brokertest.Broker.
func (s server) Create(_ context.Context, topic string) error {
	source, err := s.Source("")
	if err != nil {
		return err
	}
	return errors.Join(source.(message.SubscribeInitializer).SubscribeInitialize(topic), source.Close())
}

// source and sink close their connections too.
type source struct {
	*postgres.Source
	db *sql.DB
}

func (s source) Close() error { return errors.Join(s.Source.Close(), s.db.Close()) }

type sink struct {
	*postgres.Sink
	db *sql.DB
}

func (s sink) Close() error { return errors.Join(s.Sink.Close(), s.db.Close()) }

// Source implements brokertest.Broker.
func (s server) Source(addr string) (message.Subscriber, error) { return s.source(addr, group, 0) }

func (s server) source(addr, group string, window int) (message.Subscriber, error) {
	db, err := s.open(addr)
	if err != nil {
		return nil, err
	}
	made, err := postgres.NewSource(postgres.SourceOptions{
		DB: db, Schema: schema, Group: group, Window: window, Lease: time.Second, NackDelay: 150 * time.Millisecond, Poll: 20 * time.Millisecond,
	})
	return source{made, db}, err
}

// Sink implements brokertest.Broker.
func (s server) Sink(addr string) (message.Publisher, error) {
	db, err := s.open(addr)
	if err != nil {
		return nil, err
	}
	made, err := postgres.NewSink(postgres.SinkOptions{DB: db, Schema: schema})
	return sink{made, db}, err
}

const insertAll = `INSERT INTO ` + schema + `.headrace_queue (topic, consumer_group, payload, metadata, uuid, order_key) VALUES ($1, 'suite', $2, $3, $4, $5)`

const insert = `INSERT INTO ` + schema + `.headrace_queue (topic, consumer_group, payload) VALUES ($1, 'suite', $2)`

// Send implements brokertest.Broker.
func (s server) Send(ctx context.Context, topic string, records ...brokertest.Record) error {
	return s.with(func(db *sql.DB) error {
		for _, r := range records {
			headers, err := json.Marshal(r.Headers)
			if err != nil {
				return err
			}
			if _, err := db.ExecContext(ctx, insertAll, topic, r.Payload, headers, r.ID, r.Key); err != nil {
				return err
			}
		}
		return nil
	})
}

// Read implements brokertest.Broker.
func (s server) Read(ctx context.Context, topic string) (r brokertest.Record, err error) {
	err = s.with(func(db *sql.DB) error {
		for {
			var metadata []byte
			err := db.QueryRowContext(ctx, `SELECT uuid, order_key, payload, metadata FROM `+schema+`.headrace_queue WHERE topic = $1`, topic).
				Scan(&r.ID, &r.Key, &r.Payload, &metadata)
			if err == nil {
				return json.Unmarshal(metadata, &r.Headers)
			}
			if !errors.Is(err, sql.ErrNoRows) || ctx.Err() != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond) // nothing signals it
		}
	})
	return r, err
}

// Left implements brokertest.Broker.
func (s server) Left(ctx context.Context, topic string) (left int, err error) {
	err = s.with(func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `SELECT count(*) FROM `+schema+`.headrace_queue WHERE topic = $1`, topic).Scan(&left)
	})
	return left, err
}

// Addr implements brokertest.Broker.
func (s server) Addr() string {
	u, err := url.Parse(s.dsn)
	if err != nil {
		return ""
	}
	return u.Host
}

const insertMetadata = `INSERT INTO ` + schema + `.headrace_queue (topic, consumer_group, payload, metadata, uuid) VALUES ($1, 'suite', $2, $3, $4)`

func (s server) hostile() []brokertest.Hostile {
	metadata := func(name, document, uuid string) brokertest.Hostile {
		return brokertest.Hostile{Name: name, Send: func(ctx context.Context, topic string, body []byte) error {
			return s.with(func(db *sql.DB) error {
				_, err := db.ExecContext(ctx, insertMetadata, topic, body, document, uuid)
				return err
			})
		}}
	}
	return []brokertest.Hostile{
		metadata("no object", `[1, 2]`, ""), metadata("null", `null`, ""), metadata("a text", `"x"`, ""),
		metadata("values of all kinds", `{"a": 1, "b": null, "c": {"d": []}, "e": true}`, ""),
		metadata("NUL", `{"a": "\u0000"}`, ""), metadata("surrogate", `{"a": "\ud800"}`, ""), metadata("name twice", `{"a": "x", "a": "y"}`, ""),
		metadata("long id", `{}`, "an-id-that-is-longer-than-the-36-characters-of-watermill-sql"),
		{Name: "empty payload", Undecodable: true, Send: func(ctx context.Context, topic string, _ []byte) error {
			return metadata("", `{}`, "").Send(ctx, topic, []byte{})
		}},
	}
}
