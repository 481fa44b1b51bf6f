package intervene_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a consumer whose messages wait an hour, and an Admin.
type fixture struct {
	*enginetest.Fixture
	e     *enginetest.Engine
	admin *intervene.Admin
	fail  error
}

func onEachStore(t *testing.T, check func(*fixture)) {
	enginetest.OnEachStore(t, func(e *enginetest.Fixture) {
		f := &fixture{Fixture: e, e: e.Engine(nil), fail: retry.After(time.Hour, enginetest.ErrBoom)}
		f.admin = &intervene.Admin{Store: e.Store.Store, Instance: instance.Instance{Host: "pod-1", Build: "v1"}}
		check(f)
	})
}

// handler applies messages unless f.fail says otherwise.
func (f *fixture) handler(name string) *task.Handler {
	h := enginetest.Handler(name, func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
		if f.fail != nil {
			return f.fail
		}
		return enginetest.Effect(ctx, tx, in)
	})
	h.Policy = enginetest.Attempts(3)
	return h
}

func (f *fixture) ask(do func(context.Context, instance.Request, intervene.Args) (intervene.Answer, error), args intervene.Args) (intervene.Answer, error) {
	f.Helper()
	return do(f.Context(), instance.Request{Consumer: enginetest.Consumer, By: "ann", Reason: "wrong price"}, args)
}

// A message that waits for its time runs now, and its attempts are what they were.
//
//evidence:waiting
func TestRetry(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		a, b := f.handler("a"), f.handler("b")
		f.e.Deliver(a, "a1", "a2")
		f.e.Deliver(b, "b1")
		got, err := f.ask(f.admin.Retry, intervene.Args{Keys: []string{"a1", "nosuch"}})
		if err != nil || got.Done != 1 || len(got.Skips) != 1 || got.Skips[0].Key != "nosuch" {
			f.Errorf("by key: %+v, %v", got, err)
		}
		f.work(a, b)
		if f.Effects("a1") != 1 || f.Effects("a2") != 0 || len(f.Attempts(a, "a1")) != 1 {
			f.Errorf("a1 %d times after %d attempts, a2 %d times", f.Effects("a1"), len(f.Attempts(a, "a1")), f.Effects("a2"))
		}
		if got, err := f.ask(f.admin.Retry, intervene.Args{Handler: "b"}); err != nil || got.Done != 1 || got.More {
			f.Errorf("by handler: %+v, %v", got, err)
		}
		rows, _, err := f.Store.Operations().Waiting.List(f.Context(), backlog.Filter{Consumer: enginetest.Consumer, Handler: "a"}, 0, 10)
		if err != nil || len(rows) != 1 {
			f.Fatalf("%d rows, %v", len(rows), err)
		}
		if got, err := f.ask(f.admin.Retry, intervene.Args{ErrorFingerprint: rows[0].ErrorFingerprint}); err != nil || got.Done != 1 {
			f.Errorf("by group: %+v, %v", got, err)
		}
		f.work(a, b)
		if f.Effects("b1") != 1 || f.Effects("a2") != 1 {
			f.Errorf("b1 %d, a2 %d times", f.Effects("b1"), f.Effects("a2"))
		}
		for _, args := range []intervene.Args{{}, {Keys: []string{"a1"}}, {Handler: "a"}} {
			if got, err := f.ask(f.admin.Retry, args); !errors.Is(err, instance.ErrRefused) {
				f.Errorf("%+v: %+v, %v", args, got, err)
			}
		}
	})
}

// work has the messages that are due applied.
func (f *fixture) work(handlers ...*task.Handler) {
	f.Helper()
	fail := f.fail
	f.fail = nil
	defer func() { f.fail = fail }()
	f.e.WorkOff(f.e.Worker(handlers...))
}

// Of a strict order key only the first row moves.
//
//evidence:waiting
func TestRetryKeepsOrder(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := f.handler("a")
		h.Strict, h.Intake = true, true
		f.e.PutAll(h, enginetest.Delivery(h, "first", "k:1"), enginetest.Delivery(h, "second", "k:1"))
		f.e.WorkOff(f.e.Worker(h))
		f.Exec("UPDATE headrace_backlog SET status = 'delayed', due_at = (SELECT due_at FROM headrace_backlog WHERE key = 'first') WHERE key = 'second'")
		if got, err := f.ask(f.admin.Retry, intervene.Args{Handler: "a"}); err != nil || got.Done != 1 {
			f.Errorf("%+v, %v", got, err)
		}
		if n := f.Count("SELECT count(*) FROM headrace_backlog AS a JOIN headrace_backlog AS b ON a.due_at < b.due_at WHERE a.key = 'first' AND b.key = 'second'"); n != 1 {
			f.Error("the second is due with the first")
		}
	})
}

// A message that is cancelled is a dead letter, whole and with who did it; what was blocked
// behind it runs.
//
//evidence:waiting
func TestCancel(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := f.handler("a")
		h.Strict, h.Intake = true, true
		d := enginetest.Delivery(h, "first", "k:1")
		d.Payload, d.Metadata = []byte("whole"), map[string]string{"h": "v"}
		f.e.PutAll(h, d, enginetest.Delivery(h, "second", "k:1"))
		f.e.WorkOff(f.e.Worker(h))
		got, err := f.ask(f.admin.Cancel, intervene.Args{Keys: []string{"first", "nosuch"}})
		if err != nil || got.Done != 1 || len(got.Letters) != 1 || len(got.Skips) != 1 {
			f.Fatalf("%+v, %v", got, err)
		}
		if _, err := f.ask(f.admin.Cancel, intervene.Args{Keys: make([]string, intervene.MaxKeys+1)}); !errors.Is(err, instance.ErrRefused) || !strings.Contains(err.Error(), "are more than") {
			f.Errorf("too many keys: %v", err)
		}
		l, err := f.Store.Letters().Get(f.Context(), got.Letters[0])
		if err != nil || l.Class != dlq.Cancelled || l.State != dlq.Open || string(l.Delivery.Payload) != "whole" || l.Delivery.Metadata["h"] != "v" || l.Attempts != 1 || l.Build != "v1" {
			f.Errorf("%+v, %v", l, err)
		}
		trail, err := f.Store.Letters().Trail(f.Context(), l.LetterID)
		if err != nil || len(trail) != 1 || trail[0].Action != "cancel" || trail[0].By != "ann" || trail[0].Reason != "wrong price" {
			f.Errorf("%+v, %v", trail, err)
		}
		if f.State(h, "first") != inbox.Dead {
			f.Errorf("state %q", f.State(h, "first"))
		}
		f.work(h)
		if f.Effects("second") != 1 || f.Effects("first") != 0 {
			f.Errorf("first %d, second %d times", f.Effects("first"), f.Effects("second"))
		}
		for _, args := range []intervene.Args{{}, {Keys: []string{"first"}}, {Keys: []string{"second"}}} {
			if got, err := f.ask(f.admin.Cancel, args); !errors.Is(err, instance.ErrRefused) {
				f.Errorf("%+v: %+v, %v", args, got, err)
			}
		}
	})
}

// A message that is being handled is not cancelled: in a transaction, or under a lease.
//
//evidence:waiting
func TestCancelOfARunningMessage(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		leased := f.handler("leased")
		leased.Intake, leased.Strict, leased.Leased = true, true, &task.Leased{}
		f.e.Put(leased, "l")
		if n := len(f.e.Lease(leased, 1)); n != 1 {
			f.Fatalf("%d leases", n)
		}
		f.refused("l", "handled at the moment")
		if f.State(leased, "l") != inbox.Waiting {
			f.Errorf("state %q", f.State(leased, "l"))
		}
		a, b := f.handler("a"), f.handler("b")
		for _, h := range []*task.Handler{a, b} {
			f.e.Deliver(h, "both")
		}
		f.refused("both", "a and b")
		if got, err := f.ask(f.admin.Cancel, intervene.Args{Keys: []string{"both"}, Handler: "b"}); err != nil || got.Done != 1 || f.State(a, "both") != inbox.Waiting {
			f.Errorf("%+v, %v", got, err)
		}
		if f.SQLite {
			return // it has one writer
		}
		begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		slow := enginetest.Handler("slow", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			close(begun)
			<-end
			return enginetest.Effect(ctx, tx, in)
		})
		f.e.Put(slow, "s")
		go func() { defer close(ended); f.e.WorkOff(f.e.Worker(slow)) }()
		<-begun
		f.refused("s", "handled at the moment")
		close(end)
		<-ended
		f.AppliedOnce(slow, "s")
	})
}

func (f *fixture) refused(key, says string) {
	f.Helper()
	got, err := f.ask(f.admin.Cancel, intervene.Args{Keys: []string{key}})
	if !errors.Is(err, instance.ErrRefused) || !strings.Contains(err.Error(), says) || !slices.ContainsFunc(got.Skips, func(s intervene.Skip) bool { return s.Key == key }) {
		f.Errorf("want %q: %+v, %v", says, got, err)
	}
}
