package consumertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
)

// AppliedOnce asserts, after Settle, that each handler that took m is done with it and
// that the effect exists once. query counts the effects, for example
//
//	k.AppliedOnce(m, "SELECT count(*) FROM invoices WHERE order_id = $1", "10492")
//
// The table should have no unique index on the counted columns: it would hide an effect
// that was applied twice.
func (k *Kit) AppliedOnce(m Message, query string, args ...any) {
	k.t.Helper()
	k.Settle()
	entries := k.entries(m)
	unapplied := !all(entries, func(e inbox.Entry) bool { return e.State == inbox.Done && !e.Stale })
	if unapplied {
		k.t.Errorf("AppliedOnce: not applied: %s\n%s", m, k.tables(m))
	}
	n, err := k.number(query, args)
	if err != nil {
		k.t.Errorf("AppliedOnce: count the effects of %s: %v\n\t%s %v", m, err, query, args)
		return
	}
	switch {
	case n == 1:
	case unapplied: // the tables are shown already
		k.t.Errorf("AppliedOnce: %d effects, want 1: %s\n\t%s %v%s", n, m, query, args, hint(n, entries))
	default:
		k.t.Errorf("AppliedOnce: %d effects, want 1: %s\n\t%s %v\n%s%s", n, m, query, args, k.tables(m), hint(n, entries))
	}
}

func hint(n int, entries []inbox.Entry) string {
	if n > 1 {
		return "\nMore than one: is there an effect that does not go through the handler's Tx, or a key that differs between deliveries?"
	}
	for _, e := range entries {
		switch {
		case e.State == inbox.Dead:
			return "\nNone: it is a dead letter, and no effect of one is applied; its class and error say why it is one."
		case e.State == inbox.Discarded:
			return "\nNone: it is a dead letter that was discarded."
		case e.Stale:
			return "\nNone: it was skipped, as the handler returned inbox.ErrStale."
		}
	}
	if len(entries) == 0 {
		return "\nNone: no handler has taken this message; was it delivered, as it is here?"
	}
	return "\nNone: did the handler return nil without its effect, or does the query look elsewhere?"
}

// Skipped asserts, after Settle, that m is done without effects because the handler
// returned inbox.ErrStale (see inbox.Newer).
func (k *Kit) Skipped(m Message) {
	k.t.Helper()
	k.Settle()
	if !all(k.entries(m), func(e inbox.Entry) bool { return e.State == inbox.Done && e.Stale }) {
		k.t.Errorf("Skipped: not skipped as stale: %s\n%s", m, k.tables(m))
	}
}

// DeadLettered asserts, after Settle, that m is an open dead letter of this class, and
// returns the letter. If cause is not nil, the last failed attempt must match it by
// errors.Is, or the letter's error must contain its text.
func (k *Kit) DeadLettered(m Message, class dlq.Class, cause error) dlq.Letter {
	k.t.Helper()
	k.Settle()
	letters := k.letters(m)
	open := slices.DeleteFunc(slices.Clone(letters), func(l dlq.Letter) bool { return l.State != dlq.Open })
	if len(open) == 0 {
		k.t.Errorf("DeadLettered: no open dead letter: %s\n%s", m, k.tables(m))
		return dlq.Letter{}
	}
	l := open[0]
	if l.Class != class {
		k.t.Errorf("DeadLettered: class %q, want %q: %s\n%s", l.Class, class, m, k.tables(m))
	}
	if cause != nil && !k.failedBy(l, cause) {
		k.t.Errorf("DeadLettered: its error is not the one expected: %s\n\tgot  %s\n\twant %v\n%s", m, l.Error, cause, k.tables(m))
	}
	return l
}

// failedBy reports whether cause is the reason of the letter.
func (k *Kit) failedBy(l dlq.Letter, cause error) bool {
	k.mu.Lock()
	runs := k.runs[l.ID()]
	k.mu.Unlock()
	for _, r := range slices.Backward(runs) {
		if r.err != nil {
			if errors.Is(r.err, cause) {
				return true
			}
			break
		}
	}
	return strings.Contains(l.Error, cause.Error())
}

// State returns the state of m at the first of its handlers that took it: done, waiting,
// dead or discarded; "" if no handler took it.
func (k *Kit) State(m Message) inbox.State {
	k.t.Helper()
	for _, e := range k.entries(m) {
		return e.State
	}
	return ""
}

// Attempts returns the recorded failed attempts of m, oldest first.
func (k *Kit) Attempts(m Message) []inbox.Attempt {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	var all []inbox.Attempt
	for _, id := range k.known(m) {
		list, err := k.place.kit.Inbox().Attempts(ctx, id)
		if err != nil {
			k.t.Fatalf("read the attempts of %s: %v", m, err)
		}
		all = append(all, list...)
	}
	return all
}

// Delays returns the delays of m: those that the policy or retry.After gave after its failures,
// and those of a step that waits, as for FindAfter. In the test they take no time.
func (k *Kit) Delays(m Message) []time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []time.Duration
	for _, id := range k.ids(m) {
		all = append(all, k.delays[id]...)
	}
	return all
}

// Redrive redrives the open dead letter of m, as an operator does. It does not wait: see
// Settle.
func (k *Kit) Redrive(m Message) {
	k.t.Helper()
	k.Settle()
	filter := dlq.Filter{}
	for _, l := range k.letters(m) {
		if l.State == dlq.Open {
			filter.IDs = append(filter.IDs, l.LetterID)
		}
	}
	if len(filter.IDs) == 0 {
		k.t.Fatalf("Redrive: no open dead letter: %s\n%s", m, k.tables(m))
	}
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	done, err := redrive.New(k.place.kit).Redrive(ctx, redrive.Request{Filter: filter, By: "consumertest"})
	if err != nil || done.Done == 0 {
		k.t.Fatalf("Redrive: %d redriven, %v %v: %s\n%s", done.Done, done.Skips, err, m, k.tables(m))
	}
	k.story.add("redriven: %s", m)
	k.wakeAll()
}

// wakeAll has the running processes look for work.
func (k *Kit) wakeAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.slots {
		p.wake()
	}
}

// all reports whether entries is not empty and so holds for each of them.
func all(entries []inbox.Entry, so func(inbox.Entry) bool) bool {
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e inbox.Entry) bool { return !so(e) })
}

func (k *Kit) known(m Message) []inbox.ID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ids(m)
}

// entries returns the rows of m in the inbox.
func (k *Kit) entries(m Message) (list []inbox.Entry) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	for _, id := range k.known(m) {
		rows, err := k.place.kit.Inbox().Find(ctx, id.Key)
		if err != nil {
			k.t.Fatalf("read the inbox: %v", err)
		}
		for _, e := range rows {
			if e.ID == id {
				list = append(list, e)
			}
		}
	}
	return list
}

// maxLetters bounds the letters of a test that the kit reads.
const maxLetters = 1000

// letters returns the letters of m in any state, newest first, with payloads.
func (k *Kit) letters(m Message) (own []dlq.Letter) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	ids := k.known(m)
	all, err := k.place.kit.Letters().List(ctx, dlq.Filter{AnyState: true}, 0, maxLetters)
	for _, l := range all {
		if err != nil {
			break
		}
		// A message that had no key has its letter under a stand-in key.
		if l.Delivery.Topic != m.Topic || l.Class != dlq.Undecodable && !slices.Contains(ids, l.ID()) {
			continue
		}
		if l, err = k.place.kit.Letters().Get(ctx, l.LetterID); err == nil && bytes.Equal(l.Delivery.Payload, m.Payload) {
			own = append(own, l)
		}
	}
	if err != nil {
		k.t.Fatalf("read the dead letters: %v", err)
	}
	return own
}

// tables describes the rows of m.
func (k *Kit) tables(m Message) string {
	k.t.Helper()
	var lines []string
	for _, e := range k.entries(m) {
		stale := ""
		if e.Stale {
			stale = ", skipped as stale"
		}
		lines = append(lines, fmt.Sprintf("inbox: %s, key %q: %s%s", e.Scope, e.Key, e.State, stale))
	}
	if len(lines) == 0 {
		lines = append(lines, "inbox: no row")
	}
	for _, a := range k.Attempts(m) {
		lines = append(lines, fmt.Sprintf("attempt %d of %s failed: %s: %s", a.N, a.Scope, a.Class, a.Error))
	}
	for _, l := range k.letters(m) {
		lines = append(lines, fmt.Sprintf("dead letter %d of %s/%s: %s, class %s, after %d attempts: %s", l.LetterID, l.Consumer, l.Handler, l.State, l.Class, l.Attempts, l.Error))
	}
	return "the tables hold:" + indent(lines) + "\n" + k.tell()
}
