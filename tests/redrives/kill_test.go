package redrives

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

var (
	often = flag.Int("redrives.kills", 0, "how many processes to kill, on each database; 0 means 200, or 5 with -short")
	seed  = flag.Uint64("redrives.seed", 1, "chooses whom to kill, and when")
)

const (
	name    = "billing"
	handler = "orders.paid"
	// perKill is how many letters are sent in the time between two kills.
	perKill = 150
	// pace is the mean time between two kills.
	pace = 750 * time.Millisecond
	// bound is how long the whole may take, but for the time between kills.
	bound = 3 * time.Minute
)

// Two processes do a redrive, and are killed at random: nothing is sent twice, nothing is lost, and
// each outcome is true.
//
//evidence:redrive-job
func TestKilled(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killed(t, place{File: filepath.Join(t.TempDir(), "headrace.db")})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		killed(t, place{DSN: dsn, Schema: schema})
	})
}

// world is a redrive and the processes that do it.
type world struct {
	*testing.T
	place
	ctx       context.Context
	st        store.Store
	checker   store.Checker
	dir       string
	processes [2]*process
	random    *rand.Rand
	kills     int
	job       int64
	resumed   int
}

func killed(t *testing.T, p place) {
	w := newWorld(t, p, 5)
	ids := w.seed(perKill * w.kills)
	for i := range w.processes {
		w.processes[i] = start(t, p, w.dir, fmt.Sprint(i))
	}
	w.start(len(ids))
	w.killAll()
	w.wait()
	w.verify(ids)
	t.Logf("%d kills, %d letters, resumed %d times", w.kills, len(ids), w.resumed)
}

// newWorld returns a database without letters and processes. The short form has few kills.
func newWorld(t *testing.T, p place, few int) *world {
	kills := *often
	switch {
	case kills > 0:
	case testing.Short():
		kills = few
	default:
		kills = 200
	}
	t.Logf("seed %d", *seed)
	ctx, cancel := context.WithTimeout(t.Context(), bound+time.Duration(kills)*4*pace)
	st, err := p.open(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, place: p, ctx: ctx, st: st, checker: st, dir: t.TempDir(), random: rand.New(rand.NewPCG(*seed, 7)), kills: kills}
	t.Cleanup(func() {
		w.killProcesses()
		w.must(st.Close())
		cancel()
	})
	return w
}

// killProcesses kills those that run.
func (w *world) killProcesses() {
	for i, p := range w.processes {
		if p != nil {
			p.kill(w.T)
		}
		w.processes[i] = nil
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// seed writes letters, and the table of effects.
func (w *world) seed(n int) (ids []int64) {
	w.Helper()
	w.must(store.Transact(w.ctx, w.st, func(t *txn.Txn) error {
		_, err := t.ExecContext(w.ctx, "CREATE TABLE "+w.effects()+" (key text NOT NULL, n text NOT NULL)")
		return err
	}))
	var letters []dlq.Letter
	for i := range n {
		key := fmt.Sprintf("k%d", i)
		letters = append(letters, dlq.Letter{
			Class: dlq.Permanent, Consumer: name, Handler: handler, Error: "broken", ErrorFingerprint: "0123456789abcdef", Build: "v0",
			Delivery: headrace.Delivery{Scope: name + "/" + handler, Key: key, ID: key, Fingerprint: "f", Topic: "orders", Payload: []byte(`{}`)},
		})
	}
	for chunk := range slices.Chunk(letters, 500) {
		w.must(store.Transact(w.ctx, w.st, func(t *txn.Txn) error {
			var claims []inbox.Claim
			var dead []inbox.ID
			for _, l := range chunk {
				claims, dead = append(claims, inbox.Claim{ID: l.ID(), Fingerprint: "f"}), append(dead, l.ID())
			}
			if _, err := w.st.Inbox().Claim(w.ctx, t, inbox.ClaimRequest{Claims: claims}); err != nil {
				return err
			}
			if _, err := w.st.Inbox().Transition(w.ctx, t, dead, inbox.Done, inbox.Dead); err != nil {
				return err
			}
			inserted, err := w.st.Letters().Insert(w.ctx, t, chunk)
			for _, i := range inserted {
				ids = append(ids, i.LetterID)
			}
			return err
		}))
	}
	return ids
}

// ask asks the processes, again while the one that took the request was killed.
func (w *world) ask(kind string, args any) (a redriving.Answer, err error) {
	w.Helper()
	text, err := json.Marshal(args)
	w.must(err)
	o := w.st.Operations()
	asker := instance.Asker{Requests: o.Requests, Instances: o.Instances, Every: 50 * time.Millisecond}
	for {
		r := instance.Request{Kind: kind, Consumer: name, Args: text, By: "ann", Reason: "fixed"}
		err := asker.Ask(w.ctx, r, instance.Valid, &a)
		if !errors.Is(err, instance.ErrLost) && !errors.Is(err, instance.ErrNoAnswer) || w.ctx.Err() != nil {
			return a, err
		}
	}
}

// start plans and applies the redrive. Its rate lets it last as long as the kills.
func (w *world) start(letters int) {
	w.Helper()
	o := job.DefaultOptions()
	o.Stages, o.PauseAt, o.Rate = nil, 100, float64(perKill)/(2*pace.Seconds())
	a, err := w.ask(redriving.KindPlan, redriving.Plan{Kind: job.Redriving, Options: o})
	if w.must(err); a.Count != int64(letters) {
		w.Fatalf("%+v, want %d letters", a, letters)
	}
	w.job = a.ID
	if _, err := w.ask(redriving.KindApply, redriving.Apply{ID: a.ID}); err != nil {
		w.Fatal(err)
	}
}

// killAll kills one process after the other while letters are sent, and starts it again.
func (w *world) killAll() {
	for range w.kills {
		select {
		case <-w.ctx.Done():
			w.Fatal("it takes too long")
		case <-time.After(pace*2/5 + time.Duration(w.random.Int64N(int64(pace*6/5)))):
		}
		i := w.random.IntN(len(w.processes))
		w.processes[i].kill(w.T)
		w.processes[i] = start(w.T, w.place, w.dir, fmt.Sprint(i))
		w.goOn()
	}
}

// goOn resumes the redrive if it has paused, and returns it. It pauses for no other reason than that
// a process has ended.
func (w *world) goOn() job.Redrive {
	r, err := w.st.Operations().Redrives.Get(w.ctx, w.job)
	if w.must(err); r.State != job.Paused {
		return r
	}
	w.resumed++
	// Resumed by the process that is there, without a request: those wait for one.
	engine := redriving.Engine{Store: w.st, Consumer: name}
	if _, err := engine.Resume(w.ctx, redriving.Resume{ID: w.job, AcceptBuild: true}); err != nil && !errors.Is(err, instance.ErrRefused) {
		w.Fatal(err)
	}
	return r
}

// wait waits until the redrive has ended.
func (w *world) wait() {
	for {
		r := w.goOn()
		if r.State == job.Done {
			return
		}
		select {
		case <-w.ctx.Done():
			w.Fatalf("it does not end: %+v", r)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// verify compares the list, the effects, the decisions and the letters.
func (w *world) verify(ids []int64) {
	effects := make(map[string]int)
	w.must(store.Transact(w.ctx, w.st, func(t *txn.Txn) error {
		rows, err := t.QueryContext(w.ctx, "SELECT key, count(*) FROM "+w.effects()+" GROUP BY key")
		if err != nil {
			return err
		}
		return each(rows, func() error {
			var key string
			var n int
			err := rows.Scan(&key, &n)
			effects[key] = n
			return err
		})
	}))
	list, err := w.st.Operations().Redrives.Entries(w.ctx, w.job, "", 0, len(ids)+1)
	if w.must(err); len(list) != len(ids) {
		w.Errorf("%d letters are on the list, want %d", len(list), len(ids))
	}
	succeeded, failed := 0, 0
	for _, e := range list {
		if w.Failed() {
			break // one is enough to see
		}
		switch n := effects[e.Key]; {
		case e.State == job.Succeeded && n == 1 && !fails(e.Key):
			succeeded++
		case e.State == job.FailedAgain && n == 0 && e.Next > 0 && (fails(e.Key) || w.crashed(e.Next)):
			failed++
		default:
			w.Errorf("letter %d, %s: %s (%s), and it has %d effects", e.LetterID, e.Key, e.State, e.Why, n)
		}
		trail, err := w.st.Letters().Trail(w.ctx, e.LetterID)
		if w.must(err); len(trail) != 1 {
			w.Errorf("letter %d was decided on %d times", e.LetterID, len(trail))
		}
	}
	r, err := w.st.Operations().Redrives.Get(w.ctx, w.job)
	if w.must(err); r.Succeeded != int64(succeeded) || r.FailedAgain != int64(failed) || r.Sent != int64(len(ids)) {
		w.Errorf("%d succeeded and %d failed: %+v", succeeded, failed, r)
	}
	w.check()
}

// check fails the test unless all rules hold.
func (w *world) check() {
	w.Helper()
	report, err := w.checker.Check(w.ctx)
	w.must(err)
	for _, rule := range report.Rules {
		if rule.Violations > 0 {
			w.Errorf("check: %+v", rule)
		}
	}
}

// crashed reports whether a letter says that its message ended the process: it was running when one
// was killed, three times.
func (w *world) crashed(id int64) bool {
	l, err := w.st.Letters().Get(w.ctx, id)
	w.must(err)
	return l.Class == dlq.Crashed
}

// each calls f for each row.
func each(rows *sql.Rows, f func() error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(); err != nil {
			return err
		}
	}
	return rows.Err()
}
