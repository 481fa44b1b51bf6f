package storetest

import (
	"fmt"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var takeTests = []test{
	{name: "Take returns letters whole, by id, and moves them once", run: takeWhole},
	{name: "Take heeds filter, after and limit", run: takeFilter},
	{name: "Take under a rollback takes nothing", run: takeRolledBack},
	{name: "letters that another transaction is taking are passed over", run: takePassesOver, needs: concurrentWriters},
	{name: "a letter is taken once, however many take", run: takeOnce},
}

// take takes letters and records who did it.
func (b *bundle) take(t *txn.Txn, f dlq.Filter, to dlq.State, after int64, limit int) []dlq.Letter {
	b.Helper()
	letters, err := b.takeQuietly(t, f, to, after, limit)
	if err != nil {
		b.Fatalf("Take: %v", err)
	}
	return letters
}

// takeQuietly may be called from any goroutine.
func (b *bundle) takeQuietly(t *txn.Txn, f dlq.Filter, to dlq.State, after int64, limit int) ([]dlq.Letter, error) {
	letters, err := b.Store.Letters().Take(b.ctx, t, f, to, after, limit)
	if err != nil {
		return nil, err
	}
	action := map[dlq.State]string{dlq.Redriven: "redrive", dlq.Discarded: "discard"}[to]
	rows := make([]dlq.Audit, len(letters))
	for i, l := range letters {
		rows[i] = dlq.Audit{LetterID: l.LetterID, Action: action, By: "ann", Reason: "suite"}
	}
	return letters, b.Store.Letters().Record(b.ctx, t, rows)
}

func letterIDs(letters []dlq.Letter) []int64 {
	var ids []int64
	for _, l := range letters {
		ids = append(ids, l.LetterID)
	}
	return ids
}

func (b *bundle) wantLetters(what string, got []dlq.Letter, want ...int64) {
	b.Helper()
	if diff := cmp.Diff(want, letterIDs(got), cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// graves returns conflicts: letters that own no inbox row, so that a test of the
// letters alone leaves nothing to contradict them.
func graves(keys ...string) []dlq.Letter {
	var letters []dlq.Letter
	for _, key := range keys {
		l := letter(key)
		l.Class = dlq.Conflict
		letters = append(letters, l)
	}
	return letters
}

func takeWhole(b *bundle) {
	letters := graves("a", "b", "c")
	letters[1].Delivery.Payload, letters[1].Delivery.Metadata = awkward[3].payload, awkward[3].metadata
	ids := b.die(letters...)
	b.in(func(t *txn.Txn) {
		got := b.take(t, dlq.Filter{}, dlq.Redriven, 0, 10)
		b.wantLetters("taken", got, ids...)
		for i, l := range got {
			want := letters[i]
			want.State = dlq.Redriven
			l.State = dlq.Redriven // before or after the move: the caller knows both
			b.wantLetter(l, want)
		}
		b.wantLetters("taken again", b.take(t, dlq.Filter{}, dlq.Discarded, 0, 10))
	})
	b.in(func(t *txn.Txn) {
		b.wantLetters("taken later", b.take(t, dlq.Filter{IDs: ids}, dlq.Discarded, 0, 10))
		b.wantLetters("taken by any state", b.take(t, dlq.Filter{AnyState: true}, dlq.Discarded, 0, 10))
		b.wantLetters("taken by their state", b.take(t, dlq.Filter{State: dlq.Redriven}, dlq.Discarded, 0, 10))
	})
	for _, id := range ids {
		if l := b.letter(id); l.State != dlq.Redriven {
			b.Errorf("letter %d is %s", id, l.State)
		}
	}
}

func takeFilter(b *bundle) {
	letters := graves("a", "b", "c", "d", "e", "f")
	for i := range letters {
		letters[i].ErrorFingerprint = fmt.Sprintf("print-%d", i%2)
	}
	ids := b.die(letters...)
	b.in(func(t *txn.Txn) {
		even := dlq.Filter{ErrorFingerprint: "print-0"}
		b.wantLetters("the first of a group", b.take(t, even, dlq.Redriven, 0, 1), ids[0])
		b.wantLetters("above a letter", b.take(t, even, dlq.Redriven, ids[2], 10), ids[4])
		b.wantLetters("the rest of the group", b.take(t, even, dlq.Redriven, 0, 10), ids[2])
		discarded := b.take(t, dlq.Filter{IDs: []int64{ids[5], ids[0], ids[3], ids[5]}}, dlq.Discarded, 0, 10)
		b.wantLetters("by id", discarded, ids[3], ids[5])
		for _, l := range discarded {
			if len(l.Delivery.Payload)+len(l.Delivery.Metadata)+len(l.Stack) > 0 {
				b.Errorf("letter %d: what its message says was read for a discard", l.LetterID)
			}
		}
		b.wantLetters("by key", b.take(t, dlq.Filter{Key: "b", ErrorFingerprint: "print-0"}, dlq.Discarded, 0, 10))
	})
	open, err := b.Store.Letters().List(b.ctx, dlq.Filter{}, 0, 10)
	b.must(err)
	b.wantLetters("left open", open, ids[1])
}

func takeRolledBack(b *bundle) {
	ids := b.die(letter("a"))
	t := b.begin()
	b.wantLetters("taken", b.take(t, dlq.Filter{}, dlq.Redriven, 0, 10), ids...)
	t.Rollback()
	if l := b.letter(ids[0]); l.State != dlq.Open {
		b.Errorf("the letter is %s", l.State)
	}
	if trail, err := b.Store.Letters().Trail(b.ctx, ids[0]); err != nil || len(trail) != 0 {
		b.Errorf("trail %v, %v", trail, err)
	}
}

//evidence:redrive
func takePassesOver(b *bundle) {
	ids := b.die(graves("a", "b", "c")...)
	one, two := b.begin(), b.begin()
	b.exec(two, "SET LOCAL lock_timeout = '5s'") // who waits for a letter fails
	b.wantLetters("by the first", b.take(one, dlq.Filter{}, dlq.Redriven, 0, 2), ids[0], ids[1])
	b.wantLetters("by the second", b.take(two, dlq.Filter{}, dlq.Redriven, 0, 2), ids[2])
	one.Rollback()
	b.wantLetters("by the second, after the rollback", b.take(two, dlq.Filter{}, dlq.Redriven, 0, 2), ids[0], ids[1])
	b.commit(two)
}

// takeOnce: command, web page and a double click make one redrive (invariant 13).
//
//evidence:redrive
func takeOnce(b *bundle) {
	const letters, workers = 40, 6
	var dead []dlq.Letter
	for n := range letters {
		dead = append(dead, letter(fmt.Sprintf("key-%02d", n)))
	}
	b.die(dead...)
	var mu sync.Mutex
	taken := make(map[int64]int)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for {
				ids, err := b.redriveSome(3 + w%3)
				if err != nil {
					b.Errorf("worker %d: %v", w, err)
				}
				if err != nil || len(ids) == 0 {
					return
				}
				mu.Lock()
				for _, id := range ids {
					taken[id]++
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	for id, n := range taken {
		if n != 1 {
			b.Errorf("letter %d was taken %d times", id, n)
		}
	}
	if n, err := b.Store.Letters().Count(b.ctx, dlq.Filter{State: dlq.Redriven}); err != nil || n != letters {
		b.Errorf("%d letters redriven, %v, want %d: no request takes what all skipped", n, err, letters)
	}
}

// redriveSome takes open letters that no other transaction is taking, and puts their
// messages into the backlog.
func (b *bundle) redriveSome(limit int) ([]int64, error) {
	t, err := b.Store.Begin(b.ctx)
	if err != nil {
		return nil, err
	}
	defer t.Rollback()
	letters, err := b.takeQuietly(t, dlq.Filter{}, dlq.Redriven, 0, limit)
	if err != nil {
		return nil, err
	}
	for _, l := range letters {
		moved, err := b.Store.Inbox().Transition(b.ctx, t, []inbox.ID{l.ID()}, inbox.Dead, inbox.Waiting)
		if err != nil || len(moved) != 1 {
			return nil, fmt.Errorf("transition of letter %d: moved %v, %w", l.LetterID, moved, err)
		}
		if err := b.Store.Backlog().Put(b.ctx, t, keptItems(l)); err != nil {
			return nil, err
		}
	}
	return letterIDs(letters), b.Store.Commit(b.ctx, t, nil)
}
