package intent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

// A COMMIT without an answer is asked about, whether it happened or not, also more than once:
// the intent is started once.
//
//evidence:intent
func TestCommitWithoutAnswer(t *testing.T) {
	onEachStore(t, func(b *bed) {
		silent := &silentStore{Store: b.st}
		client := b.newClient(silent, intent.Options{})
		b.process(b.st, 1, handles(applied))
		for id, c := range []struct {
			lost, late int64
			fresh      bool
		}{{lost: 1, fresh: true}, {late: 1}, {lost: 3, late: 1}} {
			silent.lost.Store(c.lost)
			silent.late.Store(c.late)
			got, err := orders.Start(b.ctx(), client, request("acme", fmt.Sprint("k", id), id))
			if err != nil || got.New != c.fresh {
				b.Errorf("%+v: %+v, %v", c, got, err)
			}
			if done := b.await(got.Key); done.State != inbox.Done {
				b.Errorf("%+v: %+v", c, done)
			}
		}
		if n := b.count("SELECT count(*) FROM effects"); n != 3 {
			b.Errorf("%d effects of 3 intents", n)
		}
	})
}

// While another transaction holds the key, or on SQLite the file, a Start waits for two
// seconds, and starts nothing. When that one is rolled back, the next starts it.
func TestBusy(t *testing.T) {
	onEachStore(t, func(b *bed) {
		d, err := orders.Delivery(request("acme", "k", 1))
		if err != nil {
			b.Fatal(err)
		}
		holder, err := b.st.Begin(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		defer holder.Rollback()
		claim := inbox.Claim{ID: inbox.ID{Scope: d.Scope, Key: d.Key}, Fingerprint: "another"}
		if _, err := b.st.Inbox().Claim(b.ctx(), holder, inbox.ClaimRequest{Claims: []inbox.Claim{claim}}); err != nil {
			b.Fatal(err)
		}
		before := time.Now()
		_, err = orders.Start(b.ctx(), b.client, request("acme", "k", 1))
		if took := time.Since(before); !errors.Is(err, intent.ErrBusy) || took < 1500*time.Millisecond {
			b.Errorf("%v after %s", err, took)
		}
		waits := make(chan error, 1)
		go func() {
			got, err := orders.Start(b.ctx(), b.client, request("acme", "k", 1))
			if err == nil && !got.New {
				err = fmt.Errorf("known: %+v", got)
			}
			waits <- err
		}()
		holder.Rollback()
		if err := <-waits; err != nil {
			b.Error(err)
		}
	})
}

// childVariable holds the orders of a process that starts an intent, or handles one, and
// kills itself at a point.
const childVariable = "HEADRACE_INTENT_TEST_CHILD"

type killed struct {
	SQLite, DSN, Schema string
	Handles             bool
	At                  fault.Point
}

// child does as its orders say.
func child() {
	var o killed
	if err := json.Unmarshal([]byte(os.Getenv(childVariable)), &o); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	var st store.Store
	var err error
	if o.SQLite != "" {
		st, err = sqlite.Open(ctx, o.SQLite, sqlite.Options{})
	} else {
		st, err = postgres.Open(ctx, o.DSN, postgres.Options{Schema: o.Schema})
	}
	if err != nil {
		panic(err)
	}
	st = fault.Store(st, func(p fault.Point) error {
		if p == o.At {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
	if o.Handles {
		_ = runOrders(ctx, st, 3, handles(applied))
		return
	}
	client, err := intent.NewClient(st, intent.Options{})
	if err != nil {
		panic(err)
	}
	_, err = orders.Start(ctx, client, request("acme", "k", 1))
	panic(fmt.Sprint("not killed: ", err))
}

// die runs a child until it has killed itself.
func (b *bed) die(o killed) {
	b.Helper()
	if o.SQLite = b.path; b.path == "" {
		o.DSN, o.Schema = b.dsn, b.schema
	}
	text, err := json.Marshal(o)
	if err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.ctx(), self, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		b.Fatalf("%v\n%s", err, out)
	}
}

// A process that is killed around its COMMIT has started the intent or has not; the caller
// repeats the call and the effects come once, with the answer, also when the process that
// handles it is killed.
//
//evidence:intent
func TestKills(t *testing.T) {
	onEachStore(t, func(b *bed) {
		for _, at := range []fault.Point{fault.AfterClaim, fault.BeforeCommit, fault.AfterCommit} {
			b.die(killed{At: at})
		}
		if n := b.count("SELECT count(*) FROM headrace_inbox"); n != 1 {
			b.Errorf("%d rows", n)
		}
		first := b.start(request("acme", "k", 1))
		if first.New || first.State != inbox.Waiting {
			b.Errorf("after the kills: %+v", first)
		}
		b.die(killed{Handles: true, At: fault.BeforeCommit})
		if got := b.start(request("acme", "k", 1)); got.State != inbox.Waiting || got.Answer != nil {
			b.Errorf("%+v", got)
		}
		b.die(killed{Handles: true, At: fault.AfterCommit})
		if done := b.start(request("acme", "k", 1)); done.State != inbox.Done || string(done.Answer) != `{"number":10}` {
			b.Errorf("%+v", done)
		}
		if n := b.count("SELECT count(*) FROM effects"); n != 1 {
			b.Errorf("%d effects", n)
		}
	})
}

// An unknown outcome stays one if the database does not come back.
func TestCommitWithoutAnswerForGood(t *testing.T) {
	onEachStore(t, func(b *bed) {
		silent := &silentStore{Store: b.st}
		silent.lost.Store(1 << 40)
		ctx, cancel := context.WithTimeout(b.ctx(), 200*time.Millisecond)
		defer cancel()
		if _, err := orders.Start(ctx, b.newClient(silent, intent.Options{}), request("acme", "k", 1)); !errors.Is(err, txn.ErrCommitUnknown) {
			b.Error(err)
		}
	})
}
