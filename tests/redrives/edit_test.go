package redrives

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

const (
	// together are the letters of one restore, which is one commit.
	together = 20
	// ofJob are those of a discard that is taken back: of more than one commit.
	ofJob = 1100
	// cutWithin is how long after one of these was taken its process is killed, at most.
	cutWithin = 8 * time.Millisecond
)

// Processes are killed while they edit letters and take discards back: each is done whole or not at all, as its answer
// says, and once. Then all letters are redriven, and each message is applied once, with its newest edit.
//
//evidence:edit
//evidence:restore
func TestKilledWhileEditing(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		cutOff(t, place{File: filepath.Join(t.TempDir(), "headrace.db")})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		cutOff(t, place{DSN: dsn, Schema: schema})
	})
}

// cuts are what was asked for, and its answer where the process could still give one.
type cuts struct {
	*world
	edited   map[int64]instance.RequestState // by letter
	restored map[int64][]int64               // by the first of the letters
	answers  map[int64]instance.RequestState // of restored
	answered map[instance.RequestState]int   // how many
}

func cutOff(t *testing.T, p place) {
	w := &cuts{
		world: newWorld(t, p, 4), edited: make(map[int64]instance.RequestState), restored: make(map[int64][]int64),
		answers: make(map[int64]instance.RequestState), answered: make(map[instance.RequestState]int),
	}
	ids := w.seed(w.kills*(together+2) + ofJob)
	w.begin()
	w.restoreJob(ids[:ofJob])
	rest := ids[ofJob:]
	for i := range w.kills {
		if i%2 == 0 {
			w.edit(rest[0], i)
			rest = rest[1:]
			continue
		}
		w.restore(rest[:together])
		rest = rest[together:]
	}
	w.settle()
	w.check()
	payloads := w.whole()
	w.start(len(payloads))
	w.wait()
	w.once(payloads)
	w.check()
	t.Logf("%d cuts: %v", w.kills, w.answered)
}

// begin starts both processes.
func (w *cuts) begin() {
	for i := range w.processes {
		w.processes[i] = start(w.T, w.place, w.dir, fmt.Sprint(i))
	}
}

// cut asks, kills both processes within a time after one of them has taken the request, and starts them again. It returns what
// became of the request until then.
func (w *cuts) cut(within time.Duration, kind string, args any) instance.RequestState {
	w.Helper()
	text, err := json.Marshal(args)
	w.must(err)
	requests := w.st.Operations().Requests
	id, err := requests.Ask(w.ctx, instance.Request{Kind: kind, Consumer: name, Args: text, By: "ann", Reason: "fixed"}, instance.MaxValid)
	w.must(err)
	state := func() instance.RequestState {
		_, a, _, err := requests.Get(w.ctx, id)
		w.must(err)
		return a.State
	}
	for state() == instance.RequestWaiting {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Duration(w.random.Int64N(int64(within))))
	w.killProcesses()
	got := state()
	w.answered[got]++
	w.begin()
	return got
}

func (w *cuts) edit(id int64, n int) {
	w.edited[id] = w.cut(cutWithin, editing.EditKind, editing.Edit{LetterID: id, Payload: fmt.Appendf(nil, `{"n":%d}`, n+1)})
}

func (w *cuts) restore(ids []int64) {
	_, err := redrive.New(w.st).Discard(w.ctx, redrive.Request{Filter: dlq.Filter{IDs: ids}, By: "ann", Reason: "wrong"})
	w.must(err)
	w.restored[ids[0]], w.answers[ids[0]] = ids, w.cut(cutWithin, editing.RestoreKind, editing.Restore{IDs: ids})
}

// restoreJob discards letters as a job, and takes that back, cut off as often as it takes.
func (w *cuts) restoreJob(ids []int64) {
	o := job.DefaultOptions()
	o.Stages = nil
	a, err := w.ask(redriving.KindPlan, redriving.Plan{Kind: job.Discarding, Filter: dlq.Filter{IDs: ids}, Options: o})
	if w.must(err); a.Count != ofJob {
		w.Fatalf("%+v", a)
	}
	w.job = a.ID
	if _, err := w.ask(redriving.KindApply, redriving.Apply{ID: a.ID}); err != nil {
		w.Fatal(err)
	}
	w.wait()
	for within := cutWithin; w.cut(within, editing.RestoreKind, editing.Restore{RedriveID: a.ID}) == instance.RequestTaken; within *= 2 {
	}
	w.settle()
	for _, id := range ids {
		trail, err := w.st.Letters().Trail(w.ctx, id)
		w.must(err)
		l, err := w.st.Letters().Get(w.ctx, id)
		if w.must(err); len(trail) != 2 || l.State != dlq.Open {
			w.Fatalf("letter %d is %s, after %+v", id, l.State, trail)
		}
	}
}

// settle waits until no transaction of a killed process is left: a server may still commit what it was sent.
func (w *cuts) settle() {
	if w.File != "" {
		return
	}
	for n := 1; n > 0; time.Sleep(time.Millisecond) {
		w.must(store.Transact(w.ctx, w.st, func(t *txn.Txn) error {
			return t.QueryRowContext(w.ctx, "SELECT count(*) FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation JOIN pg_namespace AS n ON n.oid = c.relnamespace"+
				" WHERE n.nspname = $1 AND c.relname = 'headrace_letter_edits' OR n.nspname = $1 AND c.relname = 'headrace_audit'", w.Schema).Scan(&n)
		}))
	}
}

// whole compares letters with answers, and returns what a redrive of the open ones applies, by key.
func (w *cuts) whole() map[string]string {
	for id, answer := range w.edited {
		l, err := w.st.Letters().Get(w.ctx, id)
		if w.must(err); answer == instance.RequestDone && l.Rev != 1 || l.Rev > 1 || answer != instance.RequestDone && answer != instance.RequestTaken {
			w.Errorf("letter %d has rev %d, and its edit was %s", id, l.Rev, answer)
		}
	}
	payloads := make(map[string]string)
	for first, ids := range w.restored {
		states := make(map[dlq.State]int)
		for _, id := range ids {
			l, err := w.st.Letters().Get(w.ctx, id)
			w.must(err)
			states[l.State]++
		}
		if answer := w.answers[first]; len(states) != 1 || answer == instance.RequestDone && states[dlq.Open] == 0 {
			w.Errorf("letters from %d on are %v, and their restore was %s", first, states, answer)
		}
	}
	list, err := redrive.New(w.st).List(w.ctx, dlq.Filter{State: dlq.Open}, 0, 1000)
	for err == nil && len(list) > 0 {
		for _, listed := range list {
			l, err := w.st.Letters().Get(w.ctx, listed.LetterID) // with its content
			w.must(err)
			var body map[string]any
			w.must(json.Unmarshal(l.Message().Payload, &body))
			payloads[l.Delivery.Key] = fmt.Sprint(body["n"])
		}
		list, err = redrive.New(w.st).List(w.ctx, dlq.Filter{State: dlq.Open}, list[len(list)-1].LetterID, 1000)
	}
	w.must(err)
	return payloads
}

// once compares effects with what was to be applied.
func (w *cuts) once(payloads map[string]string) {
	effects := make(map[string][]string)
	w.must(store.Transact(w.ctx, w.st, func(t *txn.Txn) error {
		rows, err := t.QueryContext(w.ctx, "SELECT key, n FROM "+w.effects())
		if err != nil {
			return err
		}
		return each(rows, func() error {
			var key, n string
			err := rows.Scan(&key, &n)
			effects[key] = append(effects[key], n)
			return err
		})
	}))
	for key, n := range payloads {
		if !fails(key) && !slices.Equal(effects[key], []string{n}) {
			w.Errorf("%s was applied as %q, not once as %q", key, effects[key], n)
		}
		delete(effects, key)
	}
	if len(effects) > 0 {
		w.Errorf("nothing was to be applied of %v", effects)
	}
}
