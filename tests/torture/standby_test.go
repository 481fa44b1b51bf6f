//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
	"github.com/headrace/headrace/tests/torture/cluster"
)

// outside is the other system, with its own count of what it carried out, by step and message.
type outside struct {
	mu   sync.Mutex
	made map[string]int
	keys map[string]bool // that it drops
	sent time.Time       // of all messages
}

func (o *outside) do(step string, c *ledger.Call, drops bool) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !drops || !o.keys[c.Key] {
		o.made[step]++
	}
	o.keys[c.Key] = true
	return step
}

func (o *outside) find(_ context.Context, c *ledger.Call) (string, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return "found", o.keys[c.Key], nil
}

// count returns what was made since the last call.
func (o *outside) count() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	made := maps.Clone(o.made)
	clear(o.made)
	return made
}

// calls is a handler that makes a call of each recovery.
func (o *outside) calls() (steps []ledger.Declared, work func(context.Context, *headrace.Message[string]) (headrace.Effects, error)) {
	retried := ledger.Step[string]{Name: "retry", System: "bank", Recover: ledger.Retry, KeyWindow: 24 * time.Hour}
	probed := ledger.Step[string]{Name: "probe", System: "erp", Recover: ledger.Probe, Find: o.find, Timeout: time.Second, FindAfter: time.Millisecond}
	skipped := ledger.Step[struct{}]{Name: "skip", System: "mail", Recover: ledger.Skip}
	parked := ledger.Step[string]{Name: "park", System: "bank", Recover: ledger.Park}
	return []ledger.Declared{retried, probed, skipped, parked}, func(ctx context.Context, _ *headrace.Message[string]) (headrace.Effects, error) {
		_, err := retried.Do(ctx, func(_ context.Context, c *ledger.Call) (string, error) { return o.do("retry", c, true), nil })
		if err != nil {
			return nil, err
		}
		if _, err := probed.Do(ctx, func(_ context.Context, c *ledger.Call) (string, error) { return o.do("probe", c, false), nil }); err != nil {
			return nil, err
		}
		if _, err := skipped.Do(ctx, func(_ context.Context, c *ledger.Call) (struct{}, error) {
			o.do("skip", c, false)
			return struct{}{}, nil
		}); err != nil {
			return nil, err
		}
		_, err = parked.Do(ctx, func(_ context.Context, c *ledger.Call) (string, error) { return o.do("park", c, false), nil })
		return nil, err
	}
}

// deliver runs a consumer on a database until it has acknowledged these messages.
func (o *outside) deliver(t *testing.T, dsn string, before func(store.Store) error, ids ...string) {
	t.Helper()
	st, err := postgres.Open(t.Context(), dsn, postgres.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if before != nil {
		if err := before(st); err != nil {
			t.Fatal(err)
		}
	}
	src := memsource.New()
	c, err := consumer.New("standby", st, consumer.Config{Source: src})
	if err != nil {
		t.Fatal(err)
	}
	steps, work := o.calls()
	consumer.HandleLeased(c, "orders", work, consumer.Steps(steps...))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for _, id := range ids {
		m := message.NewMessage(id, []byte(`"order"`))
		m.SetContext(headrace.WithArrival(t.Context(), headrace.Arrival{Time: o.sent}))
		src.DeliverMessage("orders", m)
		if acked, err := memsource.Outcome(ctx, m); err != nil || !acked {
			t.Errorf("%s: acknowledged %t, %v", id, acked, err)
		}
	}
	eventually(t, "no message waits", dsn, "SELECT count(*) = 0 FROM headrace_inbox WHERE state = 'waiting'")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func eventually(t *testing.T, what, dsn, query string) {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var is bool
	for end := time.Now().Add(time.Minute); !is; time.Sleep(10 * time.Millisecond) {
		if err = db.QueryRowContext(t.Context(), query).Scan(&is); time.Now().After(end) {
			t.Fatalf("%s: not so after a minute (%v)", what, err)
		}
	}
}

// servers starts a primary with a database, and its standby.
func servers(t *testing.T) (primary, standby *cluster.Cluster) {
	t.Helper()
	dir, err := os.MkdirTemp("", "headrace-standby-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var dirs []string
	for _, name := range []string{"", "primary", "standby"} {
		dirs = append(dirs, filepath.Join(dir, name))
		if err := errors.Join(os.MkdirAll(dirs[len(dirs)-1], 0o755), os.Chmod(dirs[len(dirs)-1], 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	primary, err = cluster.New(t.Context(), dirs[1])
	if errors.Is(err, cluster.ErrNone) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err == nil {
		t.Cleanup(func() { _ = primary.Stop(context.Background(), "immediate") })
		err = primary.Create(t.Context(), "shop")
	}
	if err != nil {
		t.Fatal(err)
	}
	if standby, err = primary.Standby(t.Context(), dirs[2]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = standby.Stop(context.Background(), "immediate") })
	return primary, standby
}

// A standby that is promoted lacks the last rows of its primary, and a source delivers their
// messages again. In suspect mode no call that was carried out is carried out again, whatever
// its recovery; without it those of Park and Skip are, and of Probe.
//
//evidence:suspect-mode
func TestPromotedStandby(t *testing.T) {
	primary, standby := servers(t)
	o := &outside{made: make(map[string]int), keys: make(map[string]bool), sent: time.Now()}
	o.deliver(t, primary.DSN("shop"), nil, "kept")
	eventually(t, "the standby follows", standby.DSN("shop"), "SELECT count(*) = 1 FROM headrace_inbox WHERE state = 'done'")
	if err := standby.Stop(t.Context(), "fast"); err != nil {
		t.Fatal(err)
	}
	o.count()
	o.deliver(t, primary.DSN("shop"), nil, "lost", "lost without the mode")
	if made := o.count(); !maps.Equal(made, map[string]int{"retry": 2, "probe": 2, "skip": 2, "park": 2}) {
		t.Fatalf("of two messages: %v", made)
	}
	if err := errors.Join(primary.Stop(t.Context(), "immediate"), standby.Start(t.Context()), standby.Promote(t.Context())); err != nil {
		t.Fatal(err)
	}
	o.deliver(t, standby.DSN("shop"), nil, "kept", "lost without the mode")
	if made := o.count(); !maps.Equal(made, map[string]int{"probe": 1, "skip": 1, "park": 1}) {
		t.Errorf("without suspect mode: %v", made)
	}
	o.deliver(t, standby.DSN("shop"), func(st store.Store) error {
		return store.Transact(t.Context(), st, func(x *txn.Txn) error {
			return st.Operations().Suspect.Begin(t.Context(), x, ledger.SuspectMode{Until: time.Now(), By: "ana", Reason: "a promoted standby"})
		})
	}, "kept", "lost")
	if made := o.count(); len(made) != 0 {
		t.Errorf("in suspect mode: %v", made)
	}
	st, err := postgres.Open(t.Context(), standby.DSN("shop"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	letters, err := st.Letters().List(t.Context(), dlq.Filter{}, 0, 10)
	if err != nil || len(letters) != 1 || letters[0].ID().Key != "lost" || letters[0].Class != dlq.Parked || !strings.Contains(letters[0].Error, "step park") {
		t.Errorf("%+v, %v", letters, err)
	}
	report, err := st.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range report.Rules {
		if rule.Violations > 0 {
			t.Errorf("%s: %d times, for example %s", rule.Says, rule.Violations, rule.Example)
		}
	}
}
