package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// onOutboxes runs test on each database, with bundles on stores whose outboxes have these
// names.
func onOutboxes(t *testing.T, test func(t *testing.T, a, b *bundle), first, second string) {
	t.Parallel()
	for database, make := range map[string]func(t testing.TB) func(name string) opener{
		"sqlite": func(t testing.TB) func(string) opener {
			path := filepath.Join(t.TempDir(), "outbox.db")
			return func(name string) opener {
				return func(t testing.TB) realStore {
					st, err := sqlite.Open(t.Context(), path, sqlite.Options{Migrate: true, Outbox: name})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = st.Close() })
					return realStore{st, st.DB()}
				}
			}
		},
		"postgres": func(t testing.TB) func(string) opener {
			dsn, schema := pgstore.New(t)
			return func(name string) opener {
				return func(t testing.TB) realStore {
					st := pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true, MaxConns: 8, Outbox: name})
					return realStore{st, st.DB()}
				}
			}
		},
	} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			open := make(t)
			test(t, setup(t, open(first)), setup(t, open(second)))
		})
	}
}

// Two services of one database have two outboxes and two sinks. Each sink gets what its
// service published, once and in order, also what was delayed, refused or parked, and
// nothing of the other's.
//
//evidence:outbox-names
func TestAnOutboxIsPublishedToItsSink(t *testing.T) {
	onOutboxes(t, func(t *testing.T, a, b *bundle) {
		const rows = 150
		var publishers sync.WaitGroup
		for name, x := range map[string]*bundle{"a": a, "b": b} {
			x.sink.refusing(func(_, id string) error {
				if id == name+"-parked-0" || strings.HasSuffix(id, "-7") && x.sink.tries(id) < 2 {
					return errRefused
				}
				return nil
			})
			o := x.options()
			o.MaxAttempts = 3
			x.relay(x.st, o)
			publishers.Go(func() {
				x.publish(series("parked", "key", name+"-parked", 2)...)
				for n := range rows {
					e := event("t", fmt.Sprint("key", n%5), fmt.Sprintf("%s-%d", name, n))
					if n%10 == 3 {
						e.OrderKey, e.Delay = "", time.Millisecond
					}
					x.publish(e)
				}
			})
		}
		publishers.Wait()
		for name, x := range map[string]*bundle{"a": a, "b": b} {
			x.until("all but the parked ones are published", func() bool {
				s, foreign := x.status(), func(p publication) bool { return !strings.HasPrefix(p.id, name+"-") }
				return s.Parked == 1 && total(s) == 2 || slices.ContainsFunc(x.sink.all(), foreign)
			})
			var got, want []string
			for _, p := range x.sink.all() {
				got = append(got, p.id)
			}
			for n := range rows {
				want = append(want, fmt.Sprintf("%s-%d", name, n))
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
				t.Errorf("the sink of %s (-want +got):\n%s", name, diff)
			}
			parkedIn(t, x, name)
		}
		a.sink.refusing(nil)
		if n, err := b.st.Outbox().Unpark(t.Context(), "a", nil); n != 1 || err != nil {
			t.Errorf("unparked %d, %v", n, err)
		}
		a.ob.Wake()
		a.untilEmpty()
		if got := a.sink.ids("parked"); !slices.Equal(got, []string{"a-parked-0", "a-parked-1"}) {
			t.Errorf("published after they were unparked: %v", got)
		}
		list, err := a.st.Outbox().List(t.Context(), "")
		if err != nil || len(list) != 2 || list[0].Outbox != "a" || list[1].Outbox != "b" || list[1].Parked != 1 || list[1].Relays != 1 {
			t.Errorf("the list: %+v, %v", list, err)
		}
	}, "a", "b")
}

// parkedIn looks at the parked rows of both outboxes, and at those of the one called name.
func parkedIn(t *testing.T, x *bundle, name string) {
	t.Helper()
	parked, err := x.st.Outbox().Parked(t.Context(), "", 0, 10)
	if err != nil || len(parked) != 2 || parked[0].Outbox == parked[1].Outbox {
		t.Errorf("parked in both: %+v, %v", parked, err)
	}
	parked, err = x.st.Outbox().Parked(t.Context(), name, 0, 10)
	if err != nil || len(parked) != 1 || parked[0].Event.ID != name+"-parked-0" || parked[0].Outbox != name {
		t.Errorf("parked in %s: %+v, %v", name, parked, err)
	}
}

// Of two relays of one outbox with different sinks, the later one waits, says so once, and
// takes over when the first one has ended: events do not go to both.
//
//evidence:outbox-names
func TestARelayWithAnotherSinkWaits(t *testing.T) {
	onOutboxes(t, func(t *testing.T, a, b *bundle) {
		_, stop := a.relay(a.st, a.options())
		a.publish(event("t", "", "first"))
		a.untilEmpty()

		var log bytes.Buffer
		stalls := make(chan error, 100)
		o := b.options()
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.OnStalled, o.SinkID = func(err error) { stalls <- err }, "another"
		later, err := relay.New(b.st, b.sink, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- later.Run(ctx) }()
		if err := receive(t, stalls); !errors.Is(err, relay.ErrWaiting) || !strings.Contains(err.Error(), "the test's") || !later.Stalled() {
			t.Errorf("the later relay says %v", err)
		}
		b.publish(series("t", "", "while", 100)...)
		a.ob.Wake()
		a.untilEmpty()
		if s := b.status(); s.Relays != 1 || s.Waiting != 1 || s.Sink != "the test's" {
			t.Errorf("while it waits: %+v", s)
		}
		stop()
		if err := receive(t, stalls); err != nil || later.Stalled() {
			t.Errorf("after the first has ended: %v", err)
		}
		b.publish(series("t", "", "then", 10)...)
		b.untilEmpty()
		if n, of := len(a.sink.all()), len(b.sink.all()); n != 101 || of != 10 {
			t.Errorf("%d events in the first sink and %d in the second, want 101 and 10", n, of)
		}
		cancel()
		if err := receive(t, ended); err != nil {
			t.Errorf("Run: %v", err)
		}
		if len(stalls) > 0 || strings.Count(log.String(), "waits until") != 1 {
			t.Errorf("it says more than once that it waits:\n%s", log.String())
		}
		if s := b.status(); s.Relays != 0 || s.Waiting != 0 {
			t.Errorf("after the end: %+v", s)
		}
	}, "", "")
}

func receive[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(waitTimeout):
		t.Fatal("timed out")
	}
	return v
}
