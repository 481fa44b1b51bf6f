package storetest

import (
	"fmt"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/store/txn"
)

// deliver is a live delivery whose handler succeeds.
func (l *lives) deliver(t *txn.Txn, key string, m message) (message, error) {
	request := inbox.ClaimRequest{Claims: []inbox.Claim{{ID: l.id(key), Fingerprint: "f"}}}
	answers, err := l.b.Store.Inbox().Claim(l.ctx(), t, request)
	if err != nil {
		return m, err
	}
	switch c := answers[0]; {
	case m.state == "" && c.Result != inbox.Won:
		return m, fmt.Errorf("a new message was not won: %+v", c)
	case m.state == "":
		m.state = inbox.Done
		m.effects++
		return m, l.effect(t, key)
	case c.Result != inbox.Lost || c.Entry.State != m.state:
		return m, fmt.Errorf("claim of a message in state %q: %+v", m.state, c)
	}
	return m, nil
}

// first claims a message that failed, and reports whether it was won.
func (l *lives) first(t *txn.Txn, key string, m message, to inbox.State) (bool, error) {
	r := inbox.ClaimRequest{Claims: []inbox.Claim{{ID: l.id(key), Fingerprint: "f"}}, Waiting: to == inbox.Waiting}
	answers, err := l.b.Store.Inbox().Claim(l.ctx(), t, r)
	if err != nil {
		return false, err
	}
	won := answers[0].Result == inbox.Won
	if won != (m.state == "") {
		return won, fmt.Errorf("the claim is won: %t, in state %q", won, m.state)
	}
	if won && to == inbox.Dead {
		_, err = l.b.Store.Inbox().Transition(l.ctx(), t, []inbox.ID{l.id(key)}, inbox.Done, inbox.Dead)
	}
	return won, err
}

func (l *lives) failWaiting(t *txn.Txn, key string, m message) (message, error) {
	stands, err := l.first(t, key, m, inbox.Waiting)
	if err != nil || !stands {
		return m, err
	}
	m.state, m.delayed = inbox.Waiting, false
	if err := l.fail(t, key, &m); err != nil {
		return m, err
	}
	return m, l.put(t, key)
}

func (l *lives) failDead(t *txn.Txn, key string, m message) (message, error) {
	stands, err := l.first(t, key, m, inbox.Dead)
	if err != nil || !stands {
		return m, err
	}
	if err := l.fail(t, key, &m); err != nil {
		return m, err
	}
	return m, l.deadLetter(t, key, &m)
}

// row returns the ready row of key, where the model expects one.
func (l *lives) row(t *txn.Txn, key string, m message) (backlog.Item, bool, error) {
	r := reading(shard.Of(key), 0, 100)
	r.Consumer = l.consumer
	rows, err := l.b.Store.Backlog().Read(l.ctx(), t, r)
	if err != nil {
		return backlog.Item{}, false, err
	}
	expected := m.state == inbox.Waiting && !m.delayed
	for _, r := range rows {
		if r.Delivery.Key == key {
			if !expected {
				err = fmt.Errorf("a ready row of a message in state %q, delayed %t", m.state, m.delayed)
			}
			return r, true, err
		}
	}
	if expected {
		err = fmt.Errorf("no ready row of a waiting message")
	}
	return backlog.Item{}, false, err
}

func (l *lives) drainDone(t *txn.Txn, key string, m message) (message, error) {
	row, ready, err := l.row(t, key, m)
	if err != nil || !ready {
		return m, err
	}
	if _, err := l.moved(t, key, m, inbox.Waiting, inbox.Done); err != nil {
		return m, err
	}
	m.state = inbox.Done
	m.effects++
	if err := l.effect(t, key); err != nil {
		return m, err
	}
	return m, l.b.Store.Backlog().Delete(l.ctx(), t, []int64{row.RowID})
}

func (l *lives) drainWaiting(t *txn.Txn, key string, m message) (message, error) {
	row, ready, err := l.row(t, key, m)
	if err != nil || !ready {
		return m, err
	}
	m.delayed = true
	if err := l.fail(t, key, &m); err != nil {
		return m, err
	}
	return m, l.b.Store.Backlog().Reschedule(l.ctx(), t, []backlog.Change{{RowID: row.RowID, Delay: soon, Attempt: 1}})
}

func (l *lives) drainDead(t *txn.Txn, key string, m message) (message, error) {
	row, ready, err := l.row(t, key, m)
	if err != nil || !ready {
		return m, err
	}
	if _, err := l.moved(t, key, m, inbox.Waiting, inbox.Dead); err != nil {
		return m, err
	}
	if err := l.fail(t, key, &m); err != nil {
		return m, err
	}
	if err := l.b.Store.Backlog().Delete(l.ctx(), t, []int64{row.RowID}); err != nil {
		return m, err
	}
	return m, l.deadLetter(t, key, &m)
}

// promote moves the due rows of one message at a time, since a step changes one
// message: it does nothing while another one is delayed too.
func (l *lives) promote(t *txn.Txn, key string, m message) (message, error) {
	for other, o := range l.messages {
		if other != key && o.state == inbox.Waiting && o.delayed {
			return m, nil
		}
	}
	n, err := l.b.Store.Backlog().Promote(l.ctx(), t, l.consumer, 10)
	want := 0
	if m.state == inbox.Waiting && m.delayed {
		want, m.delayed = 1, false
	}
	if err == nil && n != want {
		err = fmt.Errorf("promoted %d rows, want %d", n, want)
	}
	return m, err
}

// settle takes the open letter of key, where the model expects one.
func (l *lives) settle(t *txn.Txn, key string, m message, to dlq.State) (bool, error) {
	letters, err := l.b.takeQuietly(t, dlq.Filter{Consumer: l.consumer, Key: key}, to, 0, 10)
	if err != nil {
		return false, err
	}
	if m.state != inbox.Dead {
		if len(letters) != 0 {
			return false, fmt.Errorf("%d open letters of a message in state %q", len(letters), m.state)
		}
		return false, nil
	}
	if len(letters) != 1 || letters[0].LetterID != m.lastOpen {
		return false, fmt.Errorf("took %+v, want letter %d", letterIDs(letters), m.lastOpen)
	}
	return true, nil
}

func (l *lives) redrive(t *txn.Txn, key string, m message) (message, error) {
	taken, err := l.settle(t, key, m, dlq.Redriven)
	if err != nil || !taken {
		return m, err
	}
	if _, err := l.moved(t, key, m, inbox.Dead, inbox.Waiting); err != nil {
		return m, err
	}
	m.state, m.delayed, m.lastOpen = inbox.Waiting, false, 0
	return m, l.put(t, key)
}

func (l *lives) discard(t *txn.Txn, key string, m message) (message, error) {
	taken, err := l.settle(t, key, m, dlq.Discarded)
	if err != nil || !taken {
		return m, err
	}
	if _, err := l.moved(t, key, m, inbox.Dead, inbox.Discarded); err != nil {
		return m, err
	}
	m.state, m.lastOpen = inbox.Discarded, 0
	return m, nil
}
