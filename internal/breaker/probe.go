package breaker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Store is the part of a store.Store that a probe needs.
type Store interface {
	Begin(ctx context.Context) (*txn.Txn, error)
	Ping(ctx context.Context) error
	Inbox() inbox.Store
	Backlog() backlog.Tables
	Outbox() store.Outbox
	Letters() dlq.Store
	Operations() store.Operations
}

// Probe says which of our statements a probe runs in addition to those of every
// transaction: a role may have no grant for the others.
type Probe int

// The probes.
const (
	// Claims: only those of every transaction.
	Claims Probe = iota
	// Events: also those that write events.
	Events
	// Failures: also those that record failures.
	Failures
)

const (
	// pingTimeout bounds a ping, and probeTimeout a probe.
	pingTimeout  = 2 * time.Second
	probeTimeout = 5 * time.Second
	// probeBytes is the size of a probe's payload: a full disk may still have room for a
	// small row.
	probeBytes = 64 << 10
	probeScope = "headrace/probe"
)

// Ask tests whether the store works, and returns nil if it does. It takes at most seven
// seconds, and ends with ctx.
func Ask(ctx context.Context, st Store, p Probe) error {
	if err := Ping(ctx, st); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := errors.Join(probe(ctx, st, p), probeCommit(ctx, st))
	switch txn.Classify(err) {
	case txn.Serialization, txn.LockTimeout: // it works, and another transaction was faster
		return nil
	}
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return nil
}

// Ping tests whether the store answers.
func Ping(ctx context.Context, st Store) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return st.Ping(ctx)
}

// probe writes rows of a message that does not exist, and rolls them back.
func probe(ctx context.Context, st Store, p Probe) error {
	t, err := st.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	d := headrace.Delivery{Scope: probeScope, Key: rand.Text(), Topic: "probe", Payload: make([]byte, probeBytes), Metadata: map[string]string{}, Attempt: 1}
	_, _ = rand.Read(d.Payload) // never fails; random bytes, which no database can compress
	id := inbox.ID{Scope: d.Scope, Key: d.Key}
	if _, err := st.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: id}}}); err != nil {
		return err
	}
	if err := st.Backlog().Put(ctx, t, []backlog.Item{{Consumer: "headrace", Handler: "probe", Delivery: d, Delay: time.Hour}}); err != nil {
		return err
	}
	switch p {
	case Events:
		event, err := headrace.Event{Topic: d.Topic, Payload: d.Payload}.Encode(nil)
		if err != nil {
			return err
		}
		return st.Outbox().Insert(ctx, t, []outbox.Row{outbox.RowOf(event)})
	case Failures:
		if _, err := st.Inbox().AddAttempts(ctx, t, []inbox.Attempt{{ID: id, Class: "probe"}}); err != nil {
			return err
		}
		if _, err := st.Inbox().Transition(ctx, t, []inbox.ID{id}, inbox.Done, inbox.Dead); err != nil {
			return err
		}
		_, err := st.Letters().Insert(ctx, t, []dlq.Letter{{Class: dlq.Permanent, Consumer: "headrace", Handler: "probe", Delivery: d}})
		return err
	}
	return nil
}

// probeCommit commits a large row if the store writes to the disk only at COMMIT, and
// then makes it small again. The row is the prune position of a consumer that does not
// exist; it stays.
func probeCommit(ctx context.Context, st Store) error {
	if _, ok := st.Outbox().(outbox.SingleWriter); !ok {
		return nil
	}
	pruner := st.Operations().Pruner
	if _, _, err := pruner.Take(ctx, probeScope, 0); err != nil {
		return err
	}
	if err := pruner.Keep(ctx, probeScope, strings.Repeat("0", probeBytes), 0); err != nil {
		return err
	}
	return pruner.Keep(ctx, probeScope, "", 0)
}
