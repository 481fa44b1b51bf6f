package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// logins are a database with a login for each role.
type logins struct {
	*program
	owner  *sql.DB
	schema string
	base   *url.URL
}

func newLogins(t *testing.T) *logins {
	dsn, schema := pgtest.New(t)
	base, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l := &logins{program: &program{T: t, dsn: dsn}, owner: pgtest.OpenDB(t, "postgres", dsn), schema: schema, base: base}
	l.run(exitDone, nil, "migrate", "up", "--schema", schema)
	l.run(exitDone, nil, "migrate", "grants", "--schema", schema, "--role-prefix", schema)
	l.exec(l.stdout.String())
	t.Cleanup(func() {
		for _, role := range []string{"admin", "publisher", "consumer", "operator", "viewer"} {
			name := schema + "_" + role
			l.exec(fmt.Sprintf("DROP OWNED BY %[1]s, %[1]s_login; DROP ROLE %[1]s_login; DROP ROLE %[1]s", name))
		}
	})
	for _, role := range []string{"publisher", "consumer", "operator", "admin", "viewer"} {
		l.exec(fmt.Sprintf("CREATE ROLE %[1]s_%[2]s_login LOGIN IN ROLE %[1]s_%[2]s", schema, role))
	}
	return l
}

func (l *logins) exec(statement string) {
	l.Helper()
	if _, err := l.owner.Exec(statement); err != nil {
		l.Error(err)
	}
}

// as has the commands that follow run as a role.
func (l *logins) as(role string) string {
	u := *l.base
	u.User = url.User(l.schema + "_" + role + "_login")
	l.dsn = u.String()
	return l.dsn
}

// may runs a command line as a role, and wants that exit status.
func (l *logins) may(role string, want int, line string) {
	l.Helper()
	l.as(role)
	l.run(want, nil, append(strings.Fields(line), "--schema", l.schema)...)
}

func (l *logins) store(role string) *postgres.Store {
	l.Helper()
	st, err := postgres.Open(l.Context(), l.as(role), postgres.Options{Schema: l.schema})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = st.Close() })
	return st
}

// refused fails the test unless a statement as that role is not permitted.
func (l *logins) refused(role, statement string) {
	l.Helper()
	db := pgtest.OpenDB(l.T, "postgres", l.as(role))
	if _, err := db.ExecContext(l.Context(), statement); !txn.NotPermitted(err) {
		l.Errorf("%s: %s: %v", role, statement, err)
	}
}

// Each login can do what is of its role, and nothing else.
//
//evidence:roles
func TestRoles(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	publishAs(l)
	consumeAs(l)
	for line, status := range map[string]int{
		"status": exitPartial, "dlq ls": exitDone, "dlq groups": exitDone, "dlq show 1": exitDone, "audit ls": exitDone, "consumer ls": exitDone,
		"backlog groups": exitDone, "outbox status": exitDone, "schedule ls": exitDone, "subscription ls": exitDone,
		"system ls": exitDone, "migrate status": exitDone, "redrive ls": exitDone, "dlq ls --consumer billing --handler orders --state any": exitDone,
	} {
		for _, role := range []string{"viewer", "operator", "admin"} {
			l.may(role, status, line)
		}
	}
	var group string
	if err := l.owner.QueryRow("SELECT error_fingerprint FROM headrace_dead_letters").Scan(&group); err != nil {
		t.Fatal(err)
	}
	l.may("viewer", exitDone, "dlq why "+group)
	whole := filepath.Join(t.TempDir(), "letters")
	l.may("admin", exitDone, "dlq export 1 --unredacted --reason x --file "+whole)
	l.may("operator", exitNotPermitted, "dlq import "+whole+" --dry-run")
	l.may("admin", exitDone, "dlq import "+whole+" --dry-run")
	l.may("admin", exitPartial, "dlq import "+whole+" --reason x --yes") // its own database knows the message
	l.may("operator", exitDone, "dlq export 1")
	for line, role := range map[string]string{
		"consumer pause billing": "operator", "consumer resume billing": "operator", "dlq show 1 --payload": "operator",
		"system pause erp --for 1h --anyway": "operator", "check": "operator", "inbox show k2": "operator", "backlog ls": "operator", "steps ls": "operator",
		"dlq redrive --direct 1 --yes": "admin", "dlq discard --direct 1 --reason x --yes": "admin", "dlq restore --direct 1 --reason x --yes": "admin", "prune --source-retention 1h": "consumer",
		"suspect begin --until 1h --reason x --yes": "admin", "migrate new-id --yes": "admin",
		"steps send --direct billing/orders k2 approval true --early": "admin",
		"dlq why --shared " + group:                                   "operator", "dlq ls --where $.total>0": "operator", "check --repair counters": "admin",
		"dlq export 1": "operator", "dlq export 1 --unredacted --reason x": "admin", "dlq import " + whole + " --reason x --yes": "admin",
	} {
		l.may("viewer", exitNotPermitted, line)
		if want := "it needs the role " + role + " of"; !strings.Contains(l.stderr.String(), want) {
			t.Errorf("%s says %q, without %q", line, l.stderr.String(), want)
		}
		if role == "admin" {
			l.may("operator", exitNotPermitted, line)
		}
	}
	l.may("operator", exitRefused, "dlq redrive 1 --reason x --yes") // no process runs, which is not a matter of rights
	l.may("viewer", exitDone, "dlq show 1")
	if s := l.stdout.String(); !strings.Contains(s, "hidden from this login") || !strings.Contains(s, "no total") || strings.Contains(s, "secret") {
		t.Errorf("a viewer sees %s", s)
	}
	l.may("viewer", exitNotPermitted, "dlq ls --text secret")
	for _, line := range []string{"consumer pause billing --reason x", "consumer resume billing", "dlq show 1 --payload", "backlog ls", "outbox parked", "outbox unpark --all --yes", "system pause erp --for 1h --anyway", "system resume erp", "steps ls", "check", "inbox show k2"} {
		l.may("operator", exitDone, line)
	}
	signAs(l, group)
	l.may("admin", exitDone, "dlq discard --direct 1 --reason x --yes")
	l.may("admin", exitDone, "dlq restore --direct 1 --reason x --yes")
	l.may("admin", exitDone, "dlq discard --direct 1 --reason x --yes")
	pruneAs(l)
	l.may("admin", exitDone, "check")
	askAs(l)
}

// signAs wants what is done at once under another name to be shown with the login.
func signAs(l *logins, group string) {
	l.Helper()
	signed := "boss as " + l.schema + "_operator_login"
	for _, c := range []struct{ deed, shown string }{
		{"consumer pause billing --reason x --by boss", "consumer ls -o json"}, {"consumer resume billing --by boss", "audit ls -o json"},
		{"dlq mute " + group + " --by boss", "dlq groups -o json"}, {"dlq resolve " + group + " --by boss", "dlq groups -o json"},
		{"system pause erp --for 1h --anyway --by boss", "system ls -o json"},
	} {
		l.may("operator", exitDone, c.deed)
		l.may("operator", exitDone, c.shown)
		if out := l.stdout.String(); !strings.Contains(out, signed) {
			l.Errorf("%s: not signed with the login: %s", c.deed, out)
		}
	}
	l.may("operator", exitDone, "system resume erp")
}

// pruneAs wants nothing removed by a login that may not remove all of it.
func pruneAs(l *logins) {
	l.exec("UPDATE headrace_inbox SET changed_at = changed_at - interval '1 year' WHERE state = 'done'")
	for _, role := range []string{"admin", "consumer"} {
		want, left := exitNotPermitted, 1
		if role == "consumer" {
			want, left = exitDone, 0
		}
		l.may(role, want, "prune --source-retention 1h")
		var n int
		if err := l.owner.QueryRow("SELECT count(*) FROM headrace_inbox WHERE state = 'done'").Scan(&n); err != nil || n != left {
			l.Errorf("%d messages after prune as %s, not %d; %v", n, role, left, err)
		}
	}
}

func publishAs(l *logins) {
	st := l.store("publisher")
	tx, err := st.DB().BeginTx(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	events := []headrace.Event{
		{ID: "1", Topic: "t", OrderKey: "o", Payload: []byte("{}")},
		{ID: "2", Topic: "t", Payload: []byte("{}"), Delay: time.Hour},
		{ID: "3", Topic: "t", Payload: []byte("{}"), Local: true},
	}
	for _, event := range events {
		if err := outbox.New(st.Outbox()).Publish(l.Context(), tx, event); err != nil {
			l.Error(err)
		}
	}
	if err := tx.Commit(); err != nil {
		l.Error(err)
	}
	for _, statement := range []string{"SELECT payload FROM headrace_outbox", "DELETE FROM headrace_outbox", "SELECT 1 FROM headrace_backlog", "SELECT 1 FROM headrace_requests"} {
		l.refused("publisher", statement)
	}
}

// consumeAs runs a consumer until one message was applied, one is dead, and a request answered.
func consumeAs(l *logins) {
	l.exec("CREATE TABLE effects (id text); GRANT INSERT ON effects TO " + l.schema + "_consumer")
	st := l.store("consumer")
	source, sink := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{}), gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	published, err := sink.Subscribe(l.Context(), "done")
	if err != nil {
		l.Fatal(err)
	}
	dead := make(chan struct{})
	c, err := consumer.New("billing", st, consumer.Config{Source: source, Sink: sink, Key: inbox.JSON("id"), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		l.Fatal(err)
	}
	type order struct{ ID string }
	consumer.Handle(c, "orders", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		if m.Body.ID == "k2" {
			defer close(dead)
			return retry.Permanent(errors.New("no total"))
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES ($1)", m.Body.ID); err != nil {
			return err
		}
		return tx.Publish(headrace.Event{Topic: "done", Payload: []byte("{}")})
	})
	ctx, stop := context.WithCancel(l.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for _, id := range []string{"k1", "k2"} {
		if err := source.Publish("orders", message.NewMessage(id, []byte(`{"id": "`+id+`", "iban": "secret"}`))); err != nil {
			l.Fatal(err)
		}
	}
	(<-published).Ack()
	<-dead
	for c.Stats().Dead == 0 {
		time.Sleep(time.Millisecond)
	}
	sendAs(l)
	stop()
	if err := <-ended; err != nil {
		l.Error(err)
	}
	_, _ = source.Close(), sink.Close()
	for _, statement := range []string{
		"INSERT INTO headrace_requests (kind, consumer, build, host, args, by_whom, reason, until) VALUES ('plan', 'c', '', '', '', '', '', now())",
		"UPDATE headrace_requests SET db_user = 'ann'", "UPDATE headrace_audit SET by_whom = 'ann'",
		"INSERT INTO headrace_audit (subject_kind, subject, action, by_whom, reason, db_user) VALUES ('letter', '1', 'redrive', 'ann', '', 'ann')",
		"UPDATE headrace_meta SET id = ''", "CREATE TABLE more (n integer)", "TRUNCATE headrace_inbox",
	} {
		l.refused("consumer", statement)
	}
}

// sendAs sends a signal, which a process of the consumer does.
func sendAs(l *logins) {
	const send = "steps send billing/orders k2 approval true --early"
	if got := l.status("operator", append(strings.Fields(send), "--schema", l.schema)); got != exitNotPermitted {
		l.Errorf("an operator who sends a signal gets %d: %s", got, &l.stderr)
	}
	l.may("admin", exitDone, send+" --by ann") // the process wrote who asked, and by which login
	var by string
	if err := l.owner.QueryRow("SELECT by_whom || ', ' || db_user FROM headrace_audit WHERE action = 'send'").Scan(&by); err != nil || by != fmt.Sprintf("ann as %[1]s_admin_login, %[1]s_consumer_login", l.schema) {
		l.Errorf("a signal is sent by %s, %v", by, err)
	}
}

// askAs asks as an operator and as an admin, and tries to forge.
func askAs(l *logins) {
	operator, admin, worker := l.store("operator").Operations().Requests, l.store("admin").Operations().Requests, l.store("consumer").Operations().Requests
	self := instance.Instance{ID: "i1", Consumer: "billing"}
	for _, kind := range []string{"plan", "apply", "pause", "resume", "cancel", "rehearse", "restore", "retry"} {
		id, err := operator.Ask(l.Context(), instance.Request{Kind: kind, Consumer: "billing", By: "ann"}, time.Minute)
		if err != nil {
			l.Errorf("%s: %v", kind, err)
		}
		if r, ok, err := worker.Take(l.Context(), self, []string{kind}); err != nil || !ok || r.ID != id || r.DBUser != l.schema+"_operator_login" || !strings.HasSuffix(r.By, " as "+r.DBUser) {
			l.Errorf("%s: %+v, %t, %v", kind, r, ok, err)
		}
		if err := worker.Answer(l.Context(), id, self, instance.Answer{State: instance.RequestRefused, Error: "no"}); err != nil {
			l.Error(err)
		}
		if _, a, _, err := operator.Get(l.Context(), id); err != nil || a.State != instance.RequestRefused {
			l.Errorf("%+v, %v", a, err)
		}
	}
	for _, kind := range []string{editing.EditKind, editing.NewKeyKind, intervene.CancelKind, intervene.ResolveKind, intervene.SendKind, intervene.EraseKind, "anything"} {
		if _, err := operator.Ask(l.Context(), instance.Request{Kind: kind, Consumer: "billing"}, time.Minute); !txn.NotPermitted(err) {
			l.Errorf("an operator asks for %s: %v", kind, err)
		}
		if _, err := admin.Ask(l.Context(), instance.Request{Kind: kind, Consumer: "billing"}, time.Minute); err != nil {
			l.Errorf("an admin asks for %s: %v", kind, err)
		}
	}
	const values = " VALUES ('plan', 'billing', '', '', '', 'ann', '', now()%s, %s)"
	insert := func(column, value, until string) string {
		return "INSERT INTO headrace_requests (kind, consumer, build, host, args, by_whom, reason, until, " + column + ")" + fmt.Sprintf(values, until, value)
	}
	for _, statement := range []string{
		insert("db_user", "'ann'", ""), insert("state", "'done'", ""), insert("instance", "'i1'", ""), insert("at", "now()", ""),
		"INSERT INTO headrace_requests (kind, consumer, build, host, args, by_whom, reason, until) VALUES ('plan', 'c', '', '', '', '', '', now() + interval '2 days')",
		"UPDATE headrace_requests SET state = 'done'", "UPDATE headrace_requests SET kind = 'edit'", "DELETE FROM headrace_requests", "DELETE FROM headrace_audit",
		"UPDATE headrace_dead_letters SET payload = ''", "INSERT INTO headrace_backlog (id) VALUES (1)", "UPDATE headrace_inbox SET state = 'waiting'",
		"UPDATE headrace_outbox_held SET payload = ''",
		"INSERT INTO headrace_audit (subject_kind, subject, action, by_whom, reason, db_user) VALUES ('letter', '1', 'redrive', 'ann', '', 'ann')",
	} {
		l.refused("operator", statement)
	}
	for _, statement := range []string{"DELETE FROM headrace_audit", "UPDATE headrace_audit SET by_whom = 'ann'", "UPDATE headrace_requests SET state = 'done'", "SET ROLE " + l.schema + "_consumer"} {
		l.refused("admin", statement)
	}
	for _, statement := range []string{
		"SELECT payload FROM headrace_dead_letters", "SELECT metadata FROM headrace_backlog", "SELECT result FROM headrace_steps", "SELECT args FROM headrace_requests",
		"INSERT INTO headrace_requests (kind, consumer, build, host, args, by_whom, reason, until) VALUES ('plan', 'c', '', '', '', '', '', now())",
		"INSERT INTO headrace_pauses (consumer, by_whom, reason) VALUES ('c', '', '')",
	} {
		l.refused("viewer", statement)
	}
}

// Each command has its role.
func TestEveryCommandHasARole(t *testing.T) {
	all := commands(New().root())
	for _, name := range all {
		if _, ok := roles[name]; !ok {
			t.Errorf("%s has no role", name)
		}
	}
	if len(all) != len(roles) {
		t.Errorf("%d commands, %d roles", len(all), len(roles))
	}
}
