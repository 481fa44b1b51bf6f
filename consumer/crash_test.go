package consumer_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// childVariable holds the orders of a process that consumes until it ends.
const childVariable = "HEADRACE_CONSUMER_TEST_CHILD"

// hurry is by how much instances are faster in these tests: 12 s become 240 ms.
const hurry = 50

// orders tell a child what to do.
type orders struct {
	SQLite, DSN, Schema string
	Messages            []string // what its broker delivers
	// Leased are those that it delivers to a leased handler.
	Leased []string
	// Kill is the message whose handler kills the process, and KillToo another; Later one
	// that waits for a retry first.
	Kill, KillToo, Later string
	// KillAfter is the number of runs after which a goroutine of its own kills the process, as a
	// deploy does.
	KillAfter int64
}

func (o orders) open(ctx context.Context) (store.Store, *sql.DB, error) {
	if o.SQLite != "" {
		st, err := sqlite.Open(ctx, o.SQLite, sqlite.Options{Migrate: true})
		if err != nil {
			return nil, nil, err
		}
		return st, st.DB(), nil
	}
	st, err := postgres.Open(ctx, o.DSN, postgres.Options{Schema: o.Schema, Migrate: true})
	if err != nil {
		return nil, nil, err
	}
	return st, st.DB(), nil
}

func killSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// child consumes as its orders say until every message of them has come to its end.
func child() {
	var o orders
	err := json.Unmarshal([]byte(os.Getenv(childVariable)), &o)
	if err == nil {
		err = o.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (o orders) run() error {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
	defer stop()
	st, _, err := o.open(ctx)
	if err != nil {
		return err
	}
	src := memsource.New()
	c, err := consumer.New("test", st, consumer.Config{
		Source: src, Retry: quick, DrainTimeout: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	consumer.Hurry(c, hurry)
	var runs atomic.Int64
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if runs.Add(1) == o.KillAfter {
			go killSelf()
		}
		if m.ID == o.Later && m.Attempt == 1 {
			return retry.After(time.Millisecond, errBoom)
		}
		o.perhapsKill(m.ID)
		return insert(ctx, tx, m)
	})
	if len(o.Leased) > 0 {
		consumer.HandleLeased(c, slowTopic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			o.perhapsKill(m.ID)
			return effectsOf(m), nil
		}, consumer.Lease(leaseTerm))
	}
	for _, id := range o.Leased {
		src.Deliver(slowTopic, id, []byte(`{}`), nil)
	}
	for _, id := range o.Messages {
		src.Deliver(topic, id, []byte(`{}`), nil)
	}
	go func() {
		o.wait(ctx, st)
		stop()
	}()
	if err := c.Run(ctx); err != nil {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("some messages had not come to their end after 3 minutes")
	}
	return nil
}

func (o orders) perhapsKill(id string) {
	if id == o.Kill || id == o.KillToo {
		killSelf()
	}
}

// wait returns when every message of the orders has come to its end, or ctx has. It asks for
// one message at a time, so that it takes no database time from the consumer.
func (o orders) wait(ctx context.Context, st store.Store) {
	for _, id := range slices.Concat([]string{o.Later}, o.Messages, o.Leased) {
		for id != "" && ctx.Err() == nil {
			rows, err := st.Inbox().Find(ctx, id)
			if err == nil && len(rows) > 0 && rows[0].State != inbox.Waiting {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// crash is a database that children consume on.
type crash struct {
	*bundle
	o orders
}

func onEachDatabase(t *testing.T, f func(c *crash)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(newCrash(t, orders{SQLite: filepath.Join(t.TempDir(), "crash.db")}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		f(newCrash(t, orders{DSN: dsn, Schema: schema}))
	})
}

func newCrash(t *testing.T, o orders) *crash {
	st, db, err := o.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.(io.Closer).Close() })
	return &crash{bundle: newBundle(t, st, db), o: o}
}

// child runs a child, and reports whether it was killed.
func (c *crash) child(o orders) bool {
	c.Helper()
	o.SQLite, o.DSN, o.Schema = c.o.SQLite, c.o.DSN, c.o.Schema
	text, err := json.Marshal(o)
	if err != nil {
		c.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		c.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return true
	}
	c.Fatalf("the child ended with %v: %s", err, out)
	return false
}

// restart runs children until one ends in order, and returns how many were killed.
func (c *crash) restart(o orders) int {
	c.Helper()
	for killed := 0; killed < 12; killed++ {
		if !c.child(o) {
			return killed
		}
	}
	c.Fatal("the process is killed again and again")
	return 0
}

func (c *crash) letters(class dlq.Class) []dlq.Letter {
	c.Helper()
	list, err := c.st.Letters().List(c.Context(), dlq.Filter{}, 0, 100)
	if err != nil {
		c.Fatal(err)
	}
	var of []dlq.Letter
	for _, l := range list {
		if l.Class == class {
			of = append(of, l)
		} else {
			c.Errorf("a letter of class %s for %s", l.Class, l.Delivery.Key)
		}
	}
	return of
}

func series(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint("m", i)
	}
	return ids
}

func (c *crash) appliedOnce(ids []string, except string) {
	c.Helper()
	for _, id := range ids {
		if n := c.effects(id); id != except && n != 1 {
			c.Errorf("%s was applied %d times", id, n)
		}
	}
}

// DESIGN §3 Crash guard: one that kills its process each time is
// found after three deaths as the only work running; all others are applied, once. A
// redrive gives it a new budget: it is run again, and found again.
//
//evidence:killer
func TestKillerIsFound(t *testing.T) {
	onEachDatabase(t, func(c *crash) {
		ids := series(40)
		o := orders{Messages: ids, Kill: "m17"}
		killed := c.restart(o)
		if killed < 3 || killed > 5 {
			c.Errorf("killed %d times; want 3 with the message written down, and one or two before", killed)
		}
		c.appliedOnce(ids, "m17")
		letters := c.letters(dlq.Crashed)
		if len(letters) != 1 || letters[0].Delivery.Key != "m17" || c.state("m17") != inbox.Dead || c.effects("m17") != 0 {
			c.Fatalf("%+v, state %s", letters, c.state("m17"))
		}
		if _, err := redrive.New(c.st).Redrive(c.Context(), redrive.Request{Filter: dlq.Filter{IDs: []int64{letters[0].LetterID}}, By: "ana"}); err != nil {
			c.Fatal(err)
		}
		o.Later, o.Messages = "", []string{"m17"} // the broker's copy is a duplicate
		if killed := c.restart(o); killed < 3 {
			c.Errorf("after the redrive killed %d times", killed)
		}
		if open := c.count("SELECT count(*) FROM headrace_dead_letters WHERE state = 'open' AND class = 'crashed'"); open != 1 {
			c.Errorf("%d open letters", open)
		}
		if _, err := redrive.New(c.st).Redrive(c.Context(), redrive.Request{All: true, By: "ana"}); err != nil {
			c.Fatal(err)
		}
		if killed := c.restart(orders{Messages: []string{"m17"}}); killed != 0 || c.effects("m17") != 1 {
			c.Errorf("mended: killed %d times, applied %d times", killed, c.effects("m17"))
		}
	})
}

// The same for a killer that waits in the backlog: the drain writes down what it runs.
//
//evidence:killer
func TestKillerInTheBacklogIsFound(t *testing.T) {
	onEachDatabase(t, func(c *crash) {
		ids := series(20)
		killed := c.restart(orders{Messages: ids, Kill: "m7", Later: "m7"})
		if killed < 3 || killed > 5 {
			c.Errorf("killed %d times", killed)
		}
		c.appliedOnce(ids, "m7")
		if letters := c.letters(dlq.Crashed); len(letters) != 1 || letters[0].Delivery.Key != "m7" || letters[0].Attempts != 1 {
			c.Errorf("%+v", letters)
		}
	})
}

// A deploy with kill -9, ten times under load, counts against no message. In the short form it is three times.
//
//evidence:innocent
func TestKilledDeploysAccuseNobody(t *testing.T) {
	onEachDatabase(t, func(c *crash) {
		ids, deploys := series(3000), int64(10)
		if testing.Short() {
			ids, deploys = series(1000), 3
		}
		for n := range deploys {
			if !c.child(orders{Messages: ids, KillAfter: 100 + 20*n}) {
				c.Errorf("process %d was not killed", n)
			}
		}
		c.restart(orders{Messages: ids})
		c.appliedOnce(ids, "")
		c.letters("")
		if n := c.count("SELECT count(*) FROM headrace_attempts"); n != 0 {
			c.Errorf("%d attempts", n)
		}
	})
}

// Where another process of the consumer lives and beats, a new one marks its messages no
// longer than until it has seen that.
//
//evidence:after-kill
func TestMarkingEndsWithABeat(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		first, _ := b.pausing(insert)
		b.start(first)
		b.eventually("the first does not mark", func() bool { return !consumer.MarkingOf(first) })
		config := b.config()
		config.Source = memsource.New()
		second := b.consumer(config)
		consumer.Hurry(second, 20)
		consumer.Handle(second, topic, insert)
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- second.Run(ctx) }()
		b.eventually("the second does not mark", func() bool { return !consumer.MarkingOf(second) })
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		list, err := b.st.Operations().Instances.List(b.Context(), "test")
		if err != nil || len(list) != 2 || list[0].Ended.IsZero() || !list[1].Ended.IsZero() || !list[1].Counted.IsZero() {
			b.Errorf("%+v, %v", list, err)
		}
	})
}
