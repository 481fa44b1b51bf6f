package alerting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
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

func start(hook alerts.Hook) (*Dispatcher, *logBuffer) {
	log := new(logBuffer)
	return NewDispatcher(hook, slog.New(slog.NewTextHandler(log, nil))), log
}

func mustClose(t *testing.T, d *Dispatcher) {
	t.Helper()
	if err := d.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestSendInOrder(t *testing.T) {
	var got []string
	d, _ := start(func(_ context.Context, a alerts.Alert) { got = append(got, a.Text) })
	for i := range queueLength {
		d.Send(alerts.Alert{Text: fmt.Sprint(i)})
	}
	mustClose(t, d) // passes on what is queued
	if len(got) != queueLength || got[0] != "0" || got[queueLength-1] != fmt.Sprint(queueLength-1) {
		t.Errorf("got %q", got)
	}
}

// INVARIANT 19, DESIGN 3 "Alerts": a hook that hangs never blocks work. Drops are
// counted and logged.
func TestSendNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, calls := make(chan struct{}), 0
		d, log := start(func(context.Context, alerts.Alert) { calls++; <-release })
		d.Send(alerts.Alert{})
		synctest.Wait() // the hook hangs with the first one
		for range queueLength + 7 {
			d.Send(alerts.Alert{})
		}
		if d.Dropped() != 7 {
			t.Errorf("dropped %d, want 7", d.Dropped())
		}
		close(release)
		mustClose(t, d)
		if calls != 1+queueLength {
			t.Errorf("%d calls, want %d", calls, 1+queueLength)
		}
		if !strings.Contains(log.String(), "count=7") || strings.Count(log.String(), "dropped") != 1 {
			t.Errorf("log: %s", log)
		}
	})
}

// A panic costs one alert, and its value stays out of the log (INVARIANT 20).
func TestHookPanics(t *testing.T) {
	var got []string
	d, log := start(func(_ context.Context, a alerts.Alert) {
		if a.Text == "panic" {
			panic("secret")
		}
		got = append(got, a.Text)
	})
	d.Send(alerts.Alert{Text: "panic", Kind: alerts.Paused})
	d.Send(alerts.Alert{Text: "after"})
	mustClose(t, d)
	if len(got) != 1 || got[0] != "after" {
		t.Errorf("got %q", got)
	}
	if s := log.String(); !strings.Contains(s, "kind=paused panic=string") || strings.Contains(s, "secret") {
		t.Errorf("log: %s", s)
	}
}

// A hook may call runtime.Goexit, as t.FailNow does: Close must return all the same.
func TestHookExits(t *testing.T) {
	d, _ := start(func(context.Context, alerts.Alert) { runtime.Goexit() })
	d.Send(alerts.Alert{})
	mustClose(t, d)
}

func TestHookHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took []time.Duration
		d, _ := start(func(ctx context.Context, _ alerts.Alert) {
			begin := time.Now()
			<-ctx.Done()
			took = append(took, time.Since(begin))
		})
		d.Send(alerts.Alert{})
		d.Send(alerts.Alert{})
		mustClose(t, d)
		if len(took) != 2 || took[0] != hookTime || took[1] != hookTime {
			t.Errorf("the hook had %s", took)
		}
	})
}

func TestAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []time.Time
		d, _ := start(func(_ context.Context, a alerts.Alert) { got = append(got, a.At) })
		set := time.Unix(1, 0)
		d.Send(alerts.Alert{})
		d.Send(alerts.Alert{At: set})
		mustClose(t, d)
		if len(got) != 2 || !got[0].Equal(time.Now()) || !got[1].Equal(set) {
			t.Errorf("times %v", got)
		}
	})
}

// fault 68: Close is synchronous, safe twice and at once, and nothing is
// sent after it.
func TestClose(t *testing.T) {
	calls := 0
	d, _ := start(func(context.Context, alerts.Alert) { calls++ })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { d.Send(alerts.Alert{}) })
		all.Go(func() {
			if err := d.Close(context.Background()); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	all.Wait()
	d.Send(alerts.Alert{})
	mustClose(t, d)
	if int64(calls)+d.Dropped() != 9 {
		t.Errorf("%d calls and %d drops of 9 alerts", calls, d.Dropped())
	}
}

// Close keeps its deadline: the rest of the queue is dropped, the hook cancelled.
func TestCloseDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, log := start(func(ctx context.Context, _ alerts.Alert) { <-ctx.Done() })
		for range 10 {
			d.Send(alerts.Alert{})
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := d.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if took := time.Since(begin); took != time.Second || d.Dropped() != 9 || !strings.Contains(log.String(), "count=9") {
			t.Errorf("close took %s, dropped %d; log: %s", took, d.Dropped(), log)
		}
	})
}

func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d, _ := start(func(context.Context, alerts.Alert) { <-release })
		d.Send(alerts.Alert{})
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

func TestWithoutHook(t *testing.T) {
	d := NewDispatcher(nil, nil)
	d.Send(alerts.Alert{})
	mustClose(t, d)
	mustClose(t, d)
	if d.Dropped() != 0 {
		t.Errorf("dropped %d", d.Dropped())
	}
}
