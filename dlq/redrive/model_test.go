package redrive_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Invariants 1, 2 and 13: whatever people do to letters while messages die, are applied
// and fail again, each message is in one place, and is applied at most once.
//
//evidence:life
func TestRedriveModel(t *testing.T) {
	onBoth(t, func(b *fixture) {
		run, runs := 0, 25
		if b.kind == "postgres" {
			runs = 8 // a round trip costs more there, and the rules are the same
		}
		rapid.Check(b.T, func(t *rapid.T) {
			if run == runs {
				return
			}
			m := &model{fixture: b, t: t, prefix: fmt.Sprintf("r%d-", run), applied: make(map[string]int)}
			run++
			t.Repeat(map[string]func(*rapid.T){
				"die": m.dieOne, "conflict": m.conflictOne, "redrive": m.redriveSome, "discard": m.discardSome,
				"apply": m.applySome, "fail": m.failSome,
			})
			m.settle()
		})
	})
}

type model struct {
	*fixture
	t       *rapid.T
	prefix  string
	keys    []string
	applied map[string]int
}

func (m *model) dieOne(t *rapid.T) {
	key := fmt.Sprintf("%s%d", m.prefix, len(m.keys))
	m.keys = append(m.keys, key)
	change := func(*dlq.Letter) {}
	if rapid.Bool().Draw(t, "strict") {
		change = strict(m.prefix + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "order key"))
	}
	m.die(letter(key, change))
}

func (m *model) conflictOne(t *rapid.T) {
	if len(m.keys) == 0 {
		t.Skip("no key yet")
	}
	l := letter(rapid.SampledFrom(m.keys).Draw(t, "key"), conflict)
	m.in(func(t *txn.Txn) {
		_, err := m.st.Letters().Insert(m.ctx, t, []dlq.Letter{l}) // one that was there stays the only one
		m.must(err)
	})
}

func (m *model) filter(t *rapid.T) dlq.Filter {
	switch rapid.IntRange(0, 2).Draw(t, "filter") {
	case 0:
		return dlq.Filter{Consumer: "billing"}
	case 1:
		return dlq.Filter{Class: dlq.Conflict}
	}
	key := m.prefix + "0"
	if len(m.keys) > 0 {
		key = rapid.SampledFrom(m.keys).Draw(t, "key")
	}
	return dlq.Filter{Key: key}
}

func (m *model) redriveSome(t *rapid.T) {
	r := redrive.Request{Filter: m.filter(t), Limit: rapid.IntRange(0, 3).Draw(t, "limit"), By: "ann"}
	if _, err := m.admin.Redrive(m.ctx, r); err != nil {
		t.Fatal(err)
	}
}

func (m *model) discardSome(t *rapid.T) {
	r := redrive.Request{Filter: m.filter(t), Limit: rapid.IntRange(1, 2).Draw(t, "limit"), By: "ann", Reason: "why not"}
	if _, err := m.admin.Discard(m.ctx, r); err != nil {
		t.Fatal(err)
	}
}

// some are the ready rows of this run, at most two.
func (m *model) some() []backlog.Item {
	items := slices.DeleteFunc(m.ready(), func(i backlog.Item) bool { return !slices.Contains(m.keys, i.Delivery.Key) })
	return items[:min(len(items), 2)]
}

func (m *model) applySome(*rapid.T) {
	items := m.some()
	m.workOff(items)
	for _, i := range items {
		m.applied[i.Delivery.Key]++
	}
}

// failSome does what the drain does with messages that fail for the last time again.
func (m *model) failSome(*rapid.T) {
	items := m.some()
	m.in(func(t *txn.Txn) {
		for _, i := range items {
			l := letter(i.Delivery.Key)
			l.Delivery, l.Strict, l.PreviousID, l.Redrives = i.Delivery, i.Strict, i.LetterID, i.Redrives
			moved, err := m.st.Inbox().Transition(m.ctx, t, []inbox.ID{l.ID()}, inbox.Waiting, inbox.Dead)
			if err != nil || len(moved) != 1 {
				m.t.Fatalf("fail %s: %v, %v", l.Delivery.Key, moved, err)
			}
			m.must(m.st.Backlog().Delete(m.ctx, t, []int64{i.RowID}))
			if inserted, err := m.st.Letters().Insert(m.ctx, t, []dlq.Letter{l}); err != nil || !inserted[0].Written {
				m.t.Fatalf("letter of %s: %v, %v", l.Delivery.Key, inserted, err)
			}
		}
	})
}

// settle sends everything again until nothing is left, and then looks where it went.
func (m *model) settle() {
	m.check()
	if _, err := m.admin.Redrive(m.ctx, everything); err != nil {
		m.t.Fatal(err)
	}
	for items := m.some(); len(items) > 0; items = m.some() {
		m.workOff(items)
		for _, i := range items {
			m.applied[i.Delivery.Key]++
		}
	}
	for _, key := range m.keys {
		state, times := m.inboxState(key), m.applied[key]
		if state == inbox.Done && times != 1 || state == inbox.Discarded && times != 0 || state != inbox.Done && state != inbox.Discarded {
			m.t.Fatalf("%s is %s and was applied %d times", key, state, times)
		}
	}
	m.check()
}
