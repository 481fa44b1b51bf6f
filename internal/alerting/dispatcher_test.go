package alerting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/alerts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// notes is a hook that notes what it was given.
type notes struct {
	mu  sync.Mutex
	all []alerts.Alert
	err error
}

func (n *notes) hook(_ context.Context, a alerts.Alert) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, a)
	return n.err
}

// list is what was noted.
func (n *notes) list() []alerts.Alert {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// fail changes what the hook returns.
func (n *notes) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

// said are kind, handler and count of what was noted.
func (n *notes) said() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var words []string
	for _, a := range n.all {
		words = append(words, fmt.Sprintf("%s%s*%d", a.Kind, a.Handler, a.Count))
	}
	return strings.Join(words, " ")
}

func start(hook alerts.Hook) (*Dispatcher, *logBuffer) {
	log := new(logBuffer)
	return NewDispatcher(NewCaller(hook, slog.New(slog.NewTextHandler(log, nil))), alerts.Options{Quiet: time.Minute}), log
}

func mustClose(t *testing.T, d *Dispatcher) {
	t.Helper()
	if err := d.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func infra(kind alerts.Kind) alerts.Alert { return alerts.Alert{Kind: kind, Consumer: "c"} }

// groups is how many groups d knows.
func groups(d *Dispatcher) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.debouncer.groups)
}

// INVARIANT 19: deduplicated. The first is sent at once, and those that follow as one.
func TestDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notes
		d, _ := start(n.hook)
		begin := time.Now()
		for range 1000 {
			d.Send(infra(alerts.HandlerStuck))
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if n.said() != "handler_stuck*1" {
			t.Errorf("within the quiet time: %s", n.said())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n.said() != "handler_stuck*1 handler_stuck*999" {
			t.Errorf("after the quiet time: %s", n.said())
		}
		second := n.list()[1]
		if !second.Since.Equal(begin.Add(time.Millisecond)) || !second.At.Equal(begin.Add(999*time.Millisecond)) || second.ID == n.list()[0].ID {
			t.Errorf("since %s, at %s, id %s", second.Since.Sub(begin), second.At.Sub(begin), second.ID)
		}
		time.Sleep(2 * time.Minute)
		d.Send(infra(alerts.HandlerStuck))
		synctest.Wait()
		if n.said() != "handler_stuck*1 handler_stuck*999 handler_stuck*1" || groups(d) != 1 {
			t.Errorf("after silence: %s", n.said())
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if groups(d) != 0 {
			t.Errorf("%d groups are kept", groups(d))
		}
		mustClose(t, d)
	})
}

// A consumer that is paused and resumed again and again: the last word is the newest.
func TestDebounceKeepsTheLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notes
		d, _ := start(n.hook)
		for range 3 {
			d.Send(infra(alerts.Paused))
			time.Sleep(time.Second)
			d.Send(infra(alerts.Resumed))
			time.Sleep(time.Second)
		}
		d.Send(infra(alerts.Paused))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if want := "paused*1 resumed*1 paused*5"; n.said() != want {
			t.Errorf("said %s, want %s", n.said(), want)
		}
		mustClose(t, d)
	})
}

// INVARIANT 19: no storm, whatever the number of groups; memory is bounded.
func TestManyGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notes
		d, log := start(n.hook)
		for i := range maxGroups + 10 {
			d.Send(alerts.Alert{Kind: alerts.HandlerStuck, Consumer: "c", Handler: fmt.Sprint(i)})
		}
		synctest.Wait()
		// The sum of many groups is a group as well.
		if len(n.list()) > 10 || d.Dropped() < 10 || d.Dropped() > 12 || !strings.Contains(log.String(), "alerts dropped") {
			t.Errorf("%d calls, %d dropped, log %s", len(n.list()), d.Dropped(), log)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		var count int64
		for _, a := range n.list() {
			count += a.Count
		}
		if count+d.Dropped() != maxGroups+10 || len(n.list()) > 20 || groups(d) != 0 {
			t.Errorf("%d alerts in %d calls, %d groups kept: %s", count, len(n.list()), groups(d), n.said())
		}
		mustClose(t, d)
	})
}

// INVARIANT 19, DESIGN §3 Alerts: a hook that hangs never blocks work, and is not
// called again before it returns.
//
//evidence:hook
func TestSendNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, calls := make(chan struct{}), 0
		d, log := start(func(context.Context, alerts.Alert) error { calls++; <-release; return nil })
		start := time.Now()
		d.Send(infra(alerts.Paused))
		synctest.Wait() // the hook hangs with the first one
		for range 1000 {
			d.Send(infra(alerts.HandlerStuck))
		}
		if took := time.Since(start); took > 0 { // the bubble's clock moves only while all wait
			t.Errorf("Send took %s", took)
		}
		time.Sleep(hookTime + time.Second)
		synctest.Wait()
		if calls != 1 || !strings.Contains(log.String(), "does not return") {
			t.Errorf("%d calls; log: %s", calls, log)
		}
		close(release)
		time.Sleep(time.Minute) // both are tried again
		mustClose(t, d)
		if calls != 3 {
			t.Errorf("%d calls", calls)
		}
	})
}

// An alert that fails is tried again a few times, as the same one, and then counted
// as dropped. The words of the hook's error stay out of the log (INVARIANT 20).
func TestHookFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := notes{err: errors.New("secret")}
		d, log := start(n.hook)
		d.Send(infra(alerts.Paused))
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(n.list()) != maxTries || d.Dropped() != 1 || n.list()[0].ID == "" || n.list()[0].ID != n.list()[maxTries-1].ID {
			t.Errorf("%d tries, %d dropped", len(n.list()), d.Dropped())
		}
		n.fail(&alerts.SendError{Reason: "status 503", RetryAfter: 7 * time.Minute})
		d.Send(infra(alerts.Paused))
		synctest.Wait()
		d.Send(infra(alerts.Paused))
		n.fail(nil)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if len(n.list()) != maxTries+1 {
			t.Errorf("Retry-After was not kept: %d calls", len(n.list()))
		}
		time.Sleep(2 * time.Minute)
		mustClose(t, d)
		if last := n.list()[len(n.list())-1]; len(n.list()) != maxTries+2 || last.Count != 2 || last.ID != n.list()[maxTries].ID {
			t.Errorf("said %s", n.said())
		}
		if s := log.String(); !strings.Contains(s, "status 503") || strings.Contains(s, "secret") {
			t.Errorf("log: %s", s)
		}
	})
}

// A panic is a failure, and its value stays out of the log (INVARIANT 20).
func TestHookPanics(t *testing.T) {
	var n notes
	d, log := start(func(ctx context.Context, a alerts.Alert) error {
		if a.Kind == alerts.Paused {
			panic("secret")
		}
		return n.hook(ctx, a)
	})
	d.Send(infra(alerts.Paused))
	d.Send(infra(alerts.HandlerStuck))
	mustClose(t, d)
	if n.said() != "handler_stuck*1" {
		t.Errorf("said %s", n.said())
	}
	if s := log.String(); !strings.Contains(s, "panicked: string") || strings.Contains(s, "secret") {
		t.Errorf("log: %s", s)
	}
}

// A hook that returns an error whose methods panic, as a nil pointer's do, has panicked:
// that is no end of the process.
func TestSendErrorPanics(t *testing.T) {
	d, log := start(func(context.Context, alerts.Alert) error { return (*alerts.SendError)(nil) })
	d.Send(infra(alerts.Paused))
	mustClose(t, d)
	if s := log.String(); d.Dropped() != 1 || !strings.Contains(s, "panicked: ") {
		t.Errorf("dropped %d, log: %s", d.Dropped(), s)
	}
}

// A hook may call runtime.Goexit, as t.FailNow does: Close must return all the same.
func TestHookExits(t *testing.T) {
	d, _ := start(func(context.Context, alerts.Alert) error { runtime.Goexit(); return nil })
	d.Send(infra(alerts.Paused))
	mustClose(t, d)
	if d.Dropped() != 1 {
		t.Errorf("dropped %d", d.Dropped())
	}
}

func TestHookHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took []time.Duration
		d, _ := start(func(ctx context.Context, _ alerts.Alert) error {
			begin := time.Now()
			<-ctx.Done()
			took = append(took, time.Since(begin))
			return nil
		})
		d.Send(infra(alerts.Paused))
		d.Send(infra(alerts.HandlerStuck))
		mustClose(t, d)
		if len(took) != 2 || took[0] != hookTime || took[1] != hookTime {
			t.Errorf("the hook had %s", took)
		}
	})
}

// fault 68: Close is synchronous, safe twice and at once, and nothing is sent after
// it.
func TestClose(t *testing.T) {
	var n notes
	d, _ := start(n.hook)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { d.Send(infra(alerts.Paused)) })
		all.Go(func() {
			if err := d.Close(context.Background()); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	all.Wait()
	d.Send(infra(alerts.Paused))
	mustClose(t, d)
	count := d.Dropped()
	for _, a := range n.list() {
		count += a.Count
	}
	if count != 9 {
		t.Errorf("%d of 9 alerts were sent or dropped: %s", count, n.said())
	}
}

// Close passes on what is held back, and keeps its deadline: the rest is dropped, the
// hook cancelled.
func TestCloseDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, log := start(func(ctx context.Context, a alerts.Alert) error { <-ctx.Done(); return ctx.Err() })
		for i := range 10 {
			d.Send(alerts.Alert{Kind: alerts.HandlerStuck, Handler: fmt.Sprint(i)})
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := d.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if took := time.Since(begin); took != time.Second || d.Dropped() < 9 || !strings.Contains(log.String(), "alerts dropped") {
			t.Errorf("close took %s, dropped %d; log: %s", took, d.Dropped(), log)
		}
	})
}

func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d, _ := start(func(context.Context, alerts.Alert) error { <-release; return nil })
		d.Send(infra(alerts.Paused))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := d.Close(ctx)
		if !errors.Is(err, ErrHookStuck) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		close(release)
		mustClose(t, d) // a later call waits again
	})
}
