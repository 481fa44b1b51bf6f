package consumer_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlite"
)

// age moves the last transition of everything under a key back by so many hours.
func (b *bundle) age(hours int, key string) {
	b.Helper()
	rows, letters := "UPDATE headrace_inbox SET changed_at = changed_at - $1 * interval '1 hour' WHERE key = $2",
		"UPDATE headrace_dead_letters SET changed_at = changed_at - $1 * interval '1 hour' WHERE key = $2"
	if _, ok := b.st.(*sqlite.Store); ok {
		rows, letters = "UPDATE headrace_inbox SET changed_at = changed_at - $1 * 3600000000 WHERE key = $2",
			"UPDATE headrace_dead_letters SET changed_at = changed_at - $1 * 3600000000 WHERE key = $2"
	}
	for _, query := range []string{rows, letters} {
		if _, err := b.db.Exec(query, hours, key); err != nil {
			b.Fatal(err)
		}
	}
}

// insertUnlessFirst is insert, but for the first run for one message, which fails.
func (r *runs) insertUnlessFirst(id string) consumer.Func[body] {
	return func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if r.next(m.ID) == 1 && m.ID == id {
			return errBoom
		}
		return insert(ctx, tx, m)
	}
}

// hourly keeps what an hour's source needs.
var hourly = inbox.Retention{SourceRetention: time.Hour, DeadLetters: time.Hour}

// DESIGN §3 Retention: the consumer prunes its old messages, and those only. One that
// comes back after the window is applied again; one within it is a duplicate. A dead
// message stays with its letter, and its redrive has one effect.
//
//evidence:prune
func TestRetention(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		config.Retention = inbox.Retention{Off: true}
		var r runs
		first := b.consumer(config)
		handler := r.insertUnlessFirst("dead")
		consumer.Handle(first, topic, handler, consumer.Retry(retry.Policy{MaxAttempts: 1}))
		b.start(first)
		b.acked(b.deliver("old", `{}`), b.deliver("young", `{}`), b.deliver("dead", `{}`))
		if err := b.halt(); err != nil {
			b.Fatal(err)
		}
		b.age(100, "old")
		b.age(100, "dead")

		log := new(textLog)
		config.Retention, config.Logger = hourly, slog.New(slog.NewTextHandler(log, nil))
		second := b.consumer(config)
		consumer.Handle(second, topic, handler)
		b.start(second)
		b.eventually("the old message is pruned", func() bool { return b.state("old") == "" })
		if log.count("open_letters=never") != 1 {
			b.Error("the log does not say that open letters stay")
		}
		if b.state("young") != inbox.Done || b.state("dead") != inbox.Dead {
			b.Errorf("young is %q, dead is %q", b.state("young"), b.state("dead"))
		}
		b.acked(b.deliver("old", `{}`), b.deliver("young", `{}`), b.deliver("dead", `{}`))
		if b.effects("old") != 2 || b.effects("young") != 1 || b.effects("dead") != 0 {
			b.Errorf("effects: old %d, young %d, dead %d", b.effects("old"), b.effects("young"), b.effects("dead"))
		}
		admin := redrive.New(b.st)
		if report, err := admin.Redrive(b.Context(), redrive.Request{All: true, By: "ann", Reason: "mended"}); err != nil || report.Done != 1 {
			b.Fatalf("%+v, %v", report, err)
		}
		b.eventually("the redriven message is applied", func() bool { return b.state("dead") == inbox.Done })
		b.acked(b.deliver("dead", `{}`))
		if b.effects("dead") != 1 {
			b.Errorf("%d effects of the redriven message", b.effects("dead"))
		}
		if err := b.halt(); err != nil {
			b.Error(err)
		}
	})
}

// retained is a source that declares its retention.
type retained struct {
	*memsource.Source
	d time.Duration
}

func (r retained) Retention() time.Duration { return r.d }

// retainedTopics declares it for each topic: the longest counts, and one that is not known.
type retainedTopics struct {
	*memsource.Source
	of map[string]time.Duration
}

func (r retainedTopics) TopicRetention(topic string) time.Duration { return r.of[topic] }

// What a source declares for each of its topics counts by the longest; where it does not
// know one of them, nothing is declared.
func TestRetentionOfEachTopic(t *testing.T) {
	t.Parallel()
	for slow, want := range map[time.Duration]error{24 * time.Hour: inbox.ErrWindow, 0: inbox.ErrSourceRetention} {
		b := setupSQLite(t)
		config := b.config()
		config.Retention = inbox.Retention{Window: 200 * time.Hour, DeadLetters: 199 * time.Hour}
		config.Source = retainedTopics{b.src, map[string]time.Duration{topic: time.Minute, "slow": slow}}
		made := b.consumer(config)
		consumer.Handle(made, topic, insert, consumer.Retry(retry.Policy{MaxAttempts: 1}))
		consumer.Handle(made, "slow", insert, consumer.Retry(retry.Policy{MaxAttempts: 1}))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a run that is not refused
		defer cancel()
		if err := made.Run(ctx); !errors.Is(err, want) || want == inbox.ErrWindow && !strings.Contains(err.Error(), "1 day of the source") {
			t.Errorf("slow is kept for %s: %v, want %v", slow, err, want)
		}
	}
}

// Invariant 17: what a source, the retries of the slowest handler and the letters need
// is computed, and less is refused at the start with the sum and its parts.
//
//evidence:window
func TestRetentionIsRefusedAtTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		declared time.Duration
		r        inbox.Retention
		want     error
		says     []string
	}{
		"too short":         {0, inbox.Retention{SourceRetention: time.Hour, Window: time.Hour}, inbox.ErrWindow, []string{"Config.Retention", "2 h 15 s of retries", "7 days of closed letters"}},
		"declared":          {24 * time.Hour, inbox.Retention{Window: 25 * time.Hour}, inbox.ErrWindow, []string{"1 day of the source"}},
		"source not known":  {0, inbox.Retention{Window: 1000 * time.Hour}, inbox.ErrSourceRetention, []string{"SourceRetention"}},
		"declares nothing":  {-1, inbox.Retention{DeadLetters: time.Hour}, inbox.ErrSourceRetention, nil},
		"open letters soon": {time.Hour, inbox.Retention{OpenLetters: 2 * time.Hour}, inbox.ErrWindow, []string{"OpenLetters"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := setupSQLite(t)
			config := b.config()
			config.Retention = c.r
			if c.declared != 0 {
				config.Source = retained{b.src, c.declared}
			}
			made := b.consumer(config)
			consumer.Handle(made, topic, insert, consumer.Timeout(time.Second), consumer.Retry(retry.Policy{MaxAttempts: 1}))
			slow := retry.Policy{MaxAttempts: 3, Backoff: retry.Backoff{Initial: time.Hour, Max: time.Hour, Factor: 1}}
			consumer.Handle(made, "slow", insert, consumer.Timeout(time.Millisecond), consumer.Retry(slow))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a run that is not refused
			defer cancel()
			err := made.Run(ctx)
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
		})
	}
	b := setupSQLite(t)
	config := b.config()
	config.Retention.Window = -1
	if _, err := consumer.New("test", b.st, config); err == nil || !strings.Contains(err.Error(), "Config.Retention: Window is negative") {
		t.Errorf("a negative window: %v", err)
	}
}

// Without the source's retention nothing is pruned, and the log says once how to have
// it; Off says nothing.
func TestNothingIsPrunedUnasked(t *testing.T) {
	for name, c := range map[string]struct {
		r    inbox.Retention
		says int
	}{"unknown": {inbox.Retention{}, 1}, "off": {inbox.Retention{Off: true, OpenLetters: time.Hour}, 0}} {
		t.Run(name, func(t *testing.T) {
			b := setupSQLite(t)
			var log bytes.Buffer
			config := b.config()
			config.Retention, config.Logger = c.r, slog.New(slog.NewTextHandler(&log, nil))
			made := b.consumer(config)
			consumer.Handle(made, topic, insert)
			b.start(made)
			b.acked(b.deliver("old", `{}`))
			b.age(1e6, "old")
			if err := b.halt(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(log.String(), "Config.Retention.SourceRetention"); got != c.says || b.state("old") != inbox.Done {
				t.Errorf("said %d times, state %q\n%s", got, b.state("old"), &log)
			}
			if rounds := b.count("SELECT count(*) FROM headrace_prunes"); rounds != 0 {
				t.Errorf("%d rounds", rounds)
			}
		})
	}
}
