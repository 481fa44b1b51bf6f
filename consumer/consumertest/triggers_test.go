package consumertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/reconcile"
	"github.com/headrace/headrace/schedule"
	"github.com/headrace/headrace/webhook"
)

// reports is a program with a schedule: each night at half past two in Berlin.
func reports(p *consumertest.Process) (*consumer.Consumer, error) {
	ticks, err := schedule.NewSource(p.Store, schedule.Options{Logger: p.Logger, Schedules: []schedule.Schedule{
		{Name: "report", Cron: "30 2 * * *", Zone: "Europe/Berlin"},
	}})
	if err != nil {
		return nil, err
	}
	c, err := consumer.New("reports", p.Store, consumer.Config{Logger: p.Logger, Retry: policy})
	if err != nil {
		return nil, err
	}
	schedule.Handle(c, ticks, "report", func(ctx context.Context, tx *headrace.Tx, t schedule.Tick) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO reports (day) VALUES ($1)", t.At.UTC().Format(time.RFC3339))
		return err
	})
	return c, nil
}

const (
	createReports = "CREATE TABLE reports (day TEXT)"
	countReports  = "SELECT count(*) FROM reports WHERE day = $1"
)

// An old tick runs once, although every process makes it and one crashes; and no tick comes
// by itself.
func TestTick(t *testing.T) {
	for i, point := range []consumertest.Point{consumertest.AfterReceive, consumertest.BeforeCommit, consumertest.AfterAck} {
		t.Run(string(point), func(t *testing.T) {
			onEachOf(t, i, func(t *testing.T, d consumertest.Database) {
				k := consumertest.New(t, d, reports)
				k.Exec(createReports)
				k.CrashAt(point)
				at := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC) // clocks went from 2 to 3: half past two is moved by the gap
				at, err := schedule.Next("30 2 * * *", "Europe/Berlin", at.Add(-time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				tick := k.Tick("report", at)
				k.DeliverAtOnce(3, tick)
				k.AppliedOnce(tick, countReports, at.UTC().Format(time.RFC3339))
				if n := k.Count("SELECT count(*) FROM reports"); n != 1 {
					t.Errorf("%d reports", n)
				}
				if tick.ID != schedule.ID("report", at) {
					t.Errorf("the id is %s", tick.ID)
				}
			})
		})
	}
}

// A time that the calendar does not have, and a schedule that no handler has.
func TestTickThatNeverComes(t *testing.T) {
	for name, at := range map[string]time.Time{
		"report": time.Date(2026, 7, 1, 2, 30, 0, 0, time.UTC), // half past four in Berlin
		"audit":  time.Date(2026, 7, 1, 0, 30, 0, 0, time.UTC),
	} {
		said := failure(func(t testing.TB) { consumertest.New(t, consumertest.SQLite(), reports).Tick(name, at) })
		if !strings.HasPrefix(said, "Tick: ") || !strings.Contains(said, name) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// A job of package reconcile runs for the tick: what is missing is started, once, and the next
// run knows how far this one has come.
func TestTickOfAJob(t *testing.T) {
	onEach(t, func(t *testing.T, d consumertest.Database) {
		at := time.Date(2026, 7, 1, 2, 30, 0, 0, time.UTC)
		paid := intent.Kind[order]{Consumer: "billing", Handler: topic, Key: key(), SameWhen: inbox.Fields("id", "total")}
		k := kit(t, d, func(p *consumertest.Process) (*consumer.Consumer, error) {
			ticks, err := schedule.NewSource(p.Store, schedule.Options{Logger: p.Logger, Schedules: []schedule.Schedule{{Name: "night", Cron: "30 2 * * *"}}})
			if err != nil {
				return nil, err
			}
			c, err := consumer.New("billing", p.Store, consumer.Config{Logger: p.Logger, Retry: policy})
			if err != nil {
				return nil, err
			}
			consumer.Handle(c, topic, book, consumer.Local(), paid.Option())
			reconcile.Handle(c, ticks, reconcile.Job[order]{
				Name: "night", Kind: paid, Missing: reconcile.Enqueue, Lookback: 24 * time.Hour, MostShare: 1,
				Source: func(context.Context, reconcile.Window) iter.Seq2[reconcile.Item[order], error] {
					return func(yield func(reconcile.Item[order], error) bool) {
						yield(reconcile.Item[order]{Value: order{"10492", 4200}, At: at.Add(-2 * time.Hour)}, nil)
					}
				},
			})
			return c, nil
		})
		k.CrashAt(consumertest.BeforeCommit)
		for _, at := range []time.Time{at, at.Add(24 * time.Hour)} {
			k.Tick("night", at)
			k.Settle()
		}
		if n := k.Count(invoiced, "10492"); n != 1 {
			t.Errorf("%d invoices", n)
		}
		if n := k.Count("SELECT count(*) FROM headrace_schedules WHERE checked_to IS NOT NULL AND missing = 0"); n != 1 {
			t.Error("the second run has not recorded how far it has come")
		}
	})
}

// hooks is a program that receives webhooks, whose sender's signature is a word.
func hooks(register func(c *consumer.Consumer, source *webhook.Source)) consumertest.Wire {
	return func(p *consumertest.Process) (*consumer.Consumer, error) {
		source := webhook.NewSource(webhook.Options{Logger: p.Logger, AckTimeout: 30 * time.Second})
		mux := http.NewServeMux()
		mux.Handle("POST /hooks/shop", source.Endpoint("orders.paid", webhook.Scheme{SignsID: true, Verify: verify}))
		p.Server = mux
		c, err := consumer.New("billing", p.Store, consumer.Config{Logger: p.Logger, Retry: policy})
		if err != nil {
			return nil, err
		}
		register(c, source)
		return c, nil
	}
}

// verify accepts what is signed with a word.
func verify(r webhook.Request) (id string, err error) {
	if r.Header.Get("Signature") != "right" {
		return "", webhook.ErrSignature
	}
	var event struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(r.Body, &event); err != nil {
		return "", err
	}
	return "event-" + event.ID, nil
}

// signed is a webhook of the shop.
func signed() consumertest.Message {
	return consumertest.JSON("orders.paid", "event-10492", order{"10492", 4200}).With("Signature", "right")
}

// book is invoice without its event.
func book(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", m.Body.ID, m.Body.Total)
	return err
}

// A webhook whose process crashes is sent again, and applied once.
func TestPost(t *testing.T) {
	for name, options := range map[string][]consumer.Option{"handle": nil, "intake": {consumer.Intake()}} {
		for i, point := range []consumertest.Point{consumertest.AfterClaim, consumertest.BeforeCommit, consumertest.AfterCommit} {
			t.Run(name+" "+string(point), func(t *testing.T) {
				onEachOf(t, i, func(t *testing.T, d consumertest.Database) {
					k := kit(t, d, hooks(func(c *consumer.Consumer, s *webhook.Source) {
						consumer.Handle(c, "orders.paid", book, append(options, consumer.From(s))...)
					}))
					k.CrashAt(point)
					m := signed()
					first, second := k.Post("/hooks/shop", m), k.Post("/hooks/shop", m)
					// With Intake the answer may come before the run, and so before the crash.
					if first != 0 && (name != "intake" || first != http.StatusOK) || second != http.StatusOK && second != 0 {
						t.Errorf("answers %d, %d", first, second)
					}
					k.AppliedOnce(m, invoiced, "10492")
				})
			})
		}
	}
}

// What is refused, and what is answered although the handler fails.
func TestPostAnswers(t *testing.T) {
	onEach(t, func(t *testing.T, d consumertest.Database) {
		k := kit(t, d, hooks(func(c *consumer.Consumer, s *webhook.Source) {
			consumer.Handle(c, "orders.paid", book, consumer.From(s))
		}))
		m := signed()
		k.FailAttempt(m, 1, consumertest.AfterEffects, errors.New("mail server away"))
		for i, c := range []struct {
			path string
			m    consumertest.Message
			want int
		}{
			{"/hooks/shop", m, http.StatusOK},
			{"/hooks/shop", m, http.StatusOK},
			{"/hooks/shop", m.With("Signature", "wrong"), http.StatusUnauthorized},
			{"/hooks/shop", m.With("Content-Encoding", "gzip"), http.StatusUnsupportedMediaType},
			{"/hooks/other", m, http.StatusNotFound},
		} {
			if got := k.Post(c.path, c.m); got != c.want {
				t.Errorf("%d: status %d, want %d", i, got, c.want)
			}
		}
		k.AppliedOnce(m, invoiced, "10492")
		if k.State(m) != inbox.Done {
			t.Errorf("state %s", k.State(m))
		}
	})
}

// A webhook comes from no broker: a test that delivers it fails at once, whatever else the
// consumer has.
func TestDeliverOfAWebhook(t *testing.T) {
	hook := hooks(func(c *consumer.Consumer, s *webhook.Source) {
		consumer.Handle(c, "orders.paid", book, consumer.From(s))
		consumer.Handle(c, "orders.booked", book, consumer.Local())
	})
	for _, deliver := range []func(k *consumertest.Kit){
		func(k *consumertest.Kit) { k.Deliver(signed()) },
		func(k *consumertest.Kit) { k.DeliverAtOnce(2, signed()) },
	} {
		says(t, failure(func(t testing.TB) { deliver(kit(t, consumertest.SQLite(), hook)) }), "Kit.Post", "orders.paid")
	}
}

// Settle ends although relays look for work all the time.
func TestSettleEndsBesideRelays(t *testing.T) {
	const idleTimeout, enough = 200 * time.Millisecond, 5 * time.Second
	stop, end := context.WithTimeout(t.Context(), enough)
	defer end()
	says(t, failure(func(t testing.TB) {
		k := kit(t, consumertest.SQLite(), localOnly(false))
		t.Cleanup(end)
		k.Strand(consumertest.JSON("nobody", "m", order{"1", 1}), idleTimeout, stop.Done())
		k.Settle()
	}), "Settle: nothing has happened for 200ms", "is not taken")
	if errors.Is(stop.Err(), context.DeadlineExceeded) {
		t.Errorf("Settle has waited until the relays stopped, %s", enough)
	}
}

// A Wire without a server.
func TestPostWithoutServer(t *testing.T) {
	said := failure(func(t testing.TB) { kit(t, consumertest.SQLite(), wire).Post("/hooks/shop", signed()) })
	if !strings.Contains(said, "Process.Server") {
		t.Errorf("%q", said)
	}
}
