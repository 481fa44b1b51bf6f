package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// groupsRun is a run of several clients and of processes that count and die.
type groupsRun struct {
	*bundle
	// steps are under way while it is read-locked: a look waits for their end, and sees the same
	// letters in two statements. Those who count are not held up by it.
	steps sync.RWMutex
	// stepped is told of each step.
	stepped chan struct{}
}

// groupsModel: clients open, close, discard and prune letters, processes that count are killed
// and others go on, and after each step the view says what a count of the letters says.
//
//evidence:group-count
func groupsModel(b *bundle) {
	const clients = 16
	steps := 12
	if testing.Short() {
		steps = 3
	}
	r := &groupsRun{bundle: b, stepped: make(chan struct{}, clients*steps)}
	var work, counts sync.WaitGroup
	for range 2 {
		counts.Go(r.count)
	}
	for client := range clients {
		work.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			for n := range steps {
				r.step(random, fmt.Sprintf("%d-%d", client, n))
				r.look()
				r.stepped <- struct{}{}
			}
		})
	}
	work.Wait()
	close(r.stepped)
	counts.Wait()
	r.look()
	b.addUp()
	r.look()
}

// step opens two letters, and closes one of them, both, or none.
func (r *groupsRun) step(random *rand.Rand, key string) {
	r.steps.RLock()
	defer r.steps.RUnlock()
	keys := []string{key + "-a", key + "-b"}
	r.die(of(fmt.Sprint("print-", random.IntN(3)), "v1", keys...)...)
	switch random.IntN(4) {
	case 0:
		r.discard(keys[0])
	case 1:
		r.in(func(t *txn.Txn) {
			for _, key := range keys {
				r.take(t, dlq.Filter{Key: key}, dlq.Redriven, 0, 1)
				if len(r.move(t, inbox.Dead, inbox.Waiting, key)) > 0 { // or another client has pruned it
					r.put(t, item(key))
				}
			}
		})
	case 2:
		old := plan
		old.OpenLetters = time.Nanosecond // those of other clients, too
		_, err := r.Store.Operations().Pruner.Letters(r.ctx, inbox.PruneRequest{Plan: old, Limit: 3})
		r.must(err)
	}
}

// count adds up after each step, as a process that is killed every other time when it has taken
// changes.
func (r *groupsRun) count() {
	kill := false
	for range r.stepped {
		c := r.counter()
		if kill = !kill; kill {
			c.Groups = killed{c.Groups}
		}
		if err := c.AddUp(r.ctx); err != nil && !kill {
			r.Errorf("AddUp: %v", err)
		}
	}
}

// killed is the end of a process that has taken changes, before it writes counters.
type killed struct{ groups.Store }

func (killed) Put(context.Context, *txn.Txn, []groups.Group, map[groups.ID][]groups.Hour) error {
	return context.Canceled
}

// look compares the view with a count of the letters.
func (r *groupsRun) look() {
	r.steps.Lock()
	defer r.steps.Unlock()
	want, got := make(map[string]int64), make(map[string]int64)
	for _, g := range r.groups(groups.Filter{}) {
		got[g.ErrorFingerprint] = g.Open
	}
	rows, err := r.DB.QueryContext(r.ctx, r.statement("SELECT error_fingerprint, count(*) FROM {{schema}}.headrace_dead_letters WHERE state = 'open' GROUP BY error_fingerprint"))
	r.must(err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var print string
		var n int64
		r.must(rows.Scan(&print, &n))
		want[print] = n
	}
	r.must(rows.Err())
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("open letters by group (-letters +view):\n%s", diff)
	}
}
