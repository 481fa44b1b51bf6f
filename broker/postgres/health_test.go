package postgres_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/postgres"
)

// A source whose role may not settle, or whose database is read-only, is unhealthy, also
// while it is paused, and healthy again without help. Guards: subscription.Healthy, able.
func TestHealthy(t *testing.T) {
	s := setup(t)
	stamp := time.Now().Format("150405000000")
	topic, role := "hr-health-"+stamp, "hr_health_"+stamp
	exec, db := asRole(t, s, role)
	from, err := postgres.NewSource(postgres.SourceOptions{DB: db, Schema: schema, Group: group, Poll: 10 * time.Millisecond, Lease: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	healthy := func(want bool) { t.Helper(); brokertest.AwaitHealthy(t, from, topic, want) }
	healthy(true)
	messages, err := from.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	healthy(true)
	sink, err := s.Sink("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	if err := sink.Publish(topic, message.NewMessage("1", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	m := next(t, messages)
	exec(`REVOKE DELETE ON %s.headrace_queue FROM %s`, schema, role)
	m.Ack()
	healthy(false)
	exec(`GRANT DELETE ON %s.headrace_queue TO %s`, schema, role)
	healthy(true)

	exec(`ALTER ROLE %s SET default_transaction_read_only = on`, role)
	healthy(false)
	exec(`ALTER ROLE %s RESET default_transaction_read_only`, role)
	healthy(true)

	from.Pause(topic)
	exec(`REVOKE UPDATE ON %s.headrace_queue FROM %s`, schema, role)
	healthy(false)
	exec(`GRANT UPDATE ON %s.headrace_queue TO %s`, schema, role)
	healthy(true)
}

// asRole makes a role that may use the queue, and returns what executes a statement as its
// owner, and a database as that role. Its settings count within 0.1 s.
func asRole(t *testing.T, s server, role string) (exec func(format string, args ...any), db *sql.DB) {
	exec = func(format string, args ...any) {
		t.Helper()
		err := s.with(func(db *sql.DB) error {
			_, err := db.ExecContext(t.Context(), fmt.Sprintf(format, args...))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE ROLE %s LOGIN`, role)
	t.Cleanup(func() {
		_ = s.with(func(db *sql.DB) error {
			_, err := db.Exec(`DROP OWNED BY ` + role + `; DROP ROLE ` + role)
			return err
		})
	})
	exec(`GRANT USAGE ON SCHEMA %s TO %s`, schema, role)
	exec(`GRANT ALL ON ALL TABLES IN SCHEMA %s TO %s`, schema, role)
	exec(`GRANT ALL ON ALL SEQUENCES IN SCHEMA %s TO %s`, schema, role)
	dsn, err := url.Parse(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	dsn.User = url.User(role)
	db, err = sql.Open("postgres", dsn.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetConnMaxLifetime(100 * time.Millisecond) // settings of a role count for new sessions
	return exec, db
}
