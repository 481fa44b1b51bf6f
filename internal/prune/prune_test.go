package prune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var plan = inbox.Plan{Window: 2 * time.Hour, DeadLetters: time.Hour}

// setup returns a store with so many messages that are old, and as many that are not.
func setup(t *testing.T, n int) *sqlite.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "prune.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if report, err := st.Check(context.Background()); err != nil || !report.OK() {
			t.Errorf("check: %+v, %v", report, err)
		}
		_ = st.Close()
	})
	tx, err := st.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for i := range n {
		for _, age := range []string{"old", "young"} {
			c := inbox.Claim{ID: inbox.ID{Scope: "c/h", Key: fmt.Sprint(age, i)}, Fingerprint: "f"}
			if _, err := st.Inbox().Claim(t.Context(), tx, inbox.ClaimRequest{Claims: []inbox.Claim{c}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := tx.ExecContext(t.Context(), "UPDATE headrace_inbox SET changed_at = 0 WHERE key LIKE 'old%'"); err != nil {
		t.Fatal(err)
	}
	if err := st.Commit(t.Context(), tx, nil); err != nil {
		t.Fatal(err)
	}
	return st
}

func left(t *testing.T, st *sqlite.Store) (n int) {
	t.Helper()
	if err := st.DB().QueryRow("SELECT count(*) FROM headrace_inbox").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The last part of a round removes shared results and early signals whose time is over, of whatever consumer.
func TestRoundRemovesExpired(t *testing.T) {
	st := setup(t, 1)
	if _, err := st.DB().Exec("WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 25) INSERT INTO headrace_memos (system, step, input, token, result, until_at) SELECT 's', 'n', i, '', CAST('x' AS BLOB), 0 FROM n"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.DB().Exec("INSERT INTO headrace_memos (system, step, input, token, result, until_at) VALUES ('s', 'n', 'kept', '', CAST('x' AS BLOB), 9000000000000000)"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.DB().Exec("WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 15) INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, via, result, last_call_at, settled_at, changed_at) SELECT 'c/h', i, 'approval', '', 'done', '', '', 'signal', CAST('1' AS BLOB), 0, 1, 0 FROM n"); err != nil {
		t.Fatal(err)
	}
	done, err := Round(t.Context(), st.Operations().Pruner, plan, "c", "", Options{Limit: 10})
	if err != nil || done.Next != "" || done.Messages != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	var early int
	if err := st.DB().QueryRow("SELECT count(*) FROM headrace_steps").Scan(&early); err != nil || early != 0 {
		t.Errorf("%d early signals, %v", early, err)
	}
	var kept string
	if err := st.DB().QueryRow("SELECT group_concat(input) FROM headrace_memos").Scan(&kept); err != nil || kept != "kept" {
		t.Errorf("left: %q, %v", kept, err)
	}
}

// A round that ends early, after whichever batch, goes on from where it was.
func TestRoundGoesOn(t *testing.T) {
	for batches := range 6 {
		st := setup(t, 20)
		ctx, stop := context.WithCancel(t.Context())
		seen := 0
		o := Options{Limit: 5, Progress: func(inbox.Pruned) {
			if seen++; seen == batches {
				stop()
			}
		}}
		if batches == 0 {
			stop()
		}
		first, err := Round(ctx, st.Operations().Pruner, plan, "c", "", o)
		stop()
		if !errors.Is(err, context.Canceled) || first.Next == "" || first.Messages != min(int64(batches)*5, 20) {
			t.Fatalf("after %d batches: %+v, %v", batches, first, err)
		}
		o.Progress = nil
		second, err := Round(t.Context(), st.Operations().Pruner, plan, "c", first.Next, o)
		if err != nil || second.Next != "" || first.Messages+second.Messages != 20 || left(t, st) != 20 {
			t.Errorf("then %+v, %v; %d rows left", second, err, left(t, st))
		}
	}
}

// What is removed was recorded before as what may be removed.
//
//evidence:reconcile
func TestRoundRecordsItsCut(t *testing.T) {
	for name, c := range map[string]struct {
		plan     inbox.Plan
		consumer string
		want     time.Duration
	}{
		"of a consumer": {plan, "c", 2 * time.Hour},
		"of all":        {plan, "", 2 * time.Hour},
		"open letters":  {inbox.Plan{Window: 48 * time.Hour, DeadLetters: time.Hour, OpenLetters: 24 * time.Hour}, "c", 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			st := setup(t, 1)
			seen := errors.New("seen")
			o := watch(st, func() { // the first batch is over
				cut, err := st.Operations().Pruner.NewestCut(t.Context(), "c")
				// The cut is ahead, and never behind.
				if age := time.Since(cut); err != nil || age > c.want || age < c.want-2*cutAhead {
					seen = fmt.Errorf("the cut is %s old, %w", age, err)
				}
			})
			if _, err := Round(t.Context(), o, c.plan, c.consumer, "", Options{}); err != nil || seen.Error() != "seen" {
				t.Error(err, seen)
			}
		})
	}
}

func TestRoundFromNowhere(t *testing.T) {
	if _, err := Round(t.Context(), setup(t, 1).Operations().Pruner, plan, "", "elsewhere", Options{}); err == nil {
		t.Error("a round began elsewhere")
	}
}

// watched tells of the calls of a keeper.
type watched struct {
	inbox.Pruner
	taken chan bool
	batch func()
	kept  chan string
}

func (w watched) Take(ctx context.Context, consumer string, lease time.Duration) (string, bool, error) {
	position, due, err := w.Pruner.Take(ctx, consumer, lease)
	w.taken <- due
	return position, due, err
}

func (w watched) Messages(ctx context.Context, r inbox.PruneRequest) (inbox.Pruned, error) {
	done, err := w.Pruner.Messages(ctx, r)
	if w.batch != nil {
		w.batch()
	}
	return done, err
}

func (w watched) Keep(ctx context.Context, consumer, position string, rest time.Duration) error {
	w.kept <- position
	return w.Pruner.Keep(ctx, consumer, position, rest)
}

func watch(st *sqlite.Store, batch func()) watched {
	return watched{st.Operations().Pruner, make(chan bool, 1000), batch, make(chan string, 10)}
}

// One process prunes; another one looks, and leaves it alone. A stop in the middle
// hands the round over with its place.
func TestKeepersShareARound(t *testing.T) {
	st := setup(t, 2*defaultLimit)
	ctx, stop := context.WithCancel(t.Context())
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ends := make(chan inbox.Pruned, 1)
	first := &Keeper{Pruner: watch(st, stop), Consumer: "c", Plan: plan, Logger: logger, Done: func(p inbox.Pruned) { t.Errorf("it came to its end: %+v", p) }}
	first.Run(ctx)
	if position := <-first.Pruner.(watched).kept; position == "" {
		t.Error("handed over without a place")
	}
	if n := left(t, st); n != 3*defaultLimit {
		t.Errorf("%d rows are left after a batch", n)
	}

	again, stop := context.WithCancel(t.Context())
	second := &Keeper{Pruner: watch(st, nil), Consumer: "c", Plan: plan, Logger: logger, Look: time.Millisecond, Done: func(p inbox.Pruned) { ends <- p }}
	ended := make(chan struct{})
	go func() { defer close(ended); second.Run(again) }()
	if done := <-ends; done.Messages != defaultLimit || left(t, st) != 2*defaultLimit {
		t.Errorf("the second removed %+v, %d rows are left", done, left(t, st))
	}
	if position := <-second.Pruner.(watched).kept; position != "" {
		t.Errorf("the next round begins at %q", position)
	}
	taken := second.Pruner.(watched).taken
	for due := range taken { // the next round is not due for long
		if !due && len(second.Pruner.(watched).kept) == 0 && left(t, st) == 2*defaultLimit {
			break
		}
	}
	stop()
	<-ended
	if text := log.String(); strings.Contains(text, "failed") || strings.Count(text, "messages="+fmt.Sprint(defaultLimit)+" ") != 1 {
		t.Errorf("logged %s", text)
	}
}

// A place that means nothing is left at the next try.
func TestKeeperLeavesAPlaceThatIsWrong(t *testing.T) {
	st := setup(t, 1)
	p := st.Operations().Pruner
	if _, due, err := p.Take(t.Context(), "c", time.Minute); !due || err != nil {
		t.Fatal(due, err)
	}
	if err := p.Keep(t.Context(), "c", messages+"nowhere", -time.Minute); err != nil {
		t.Fatal(err)
	}
	k := &Keeper{Pruner: watch(st, nil), Consumer: "c", Plan: plan}
	if err := k.round(t.Context()); err == nil {
		t.Error("it went on from nowhere")
	}
	if position := <-k.Pruner.(watched).kept; position != "" {
		t.Errorf("it stays at %q", position)
	}
}

func TestPause(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{
		time.Second: time.Minute, 24 * time.Hour: time.Hour, 15 * 24 * time.Hour: 15 * time.Hour, 1000 * 24 * time.Hour: 24 * time.Hour,
	} {
		if got := pause(window); got != want {
			t.Errorf("after a window of %s: %s", window, got)
		}
	}
}
