package redrive_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
)

func TestDiscard(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.dieMany(20)
		same := b.die(letter("k0000", conflict))[0]
		r := redrive.Request{Filter: dlq.Filter{IDs: []int64{ids[0], same, ids[5], ids[5], 1 << 40}}, By: "ann", Reason: "test data"}
		result, err := b.admin.Discard(b.ctx, r)
		if err != nil || result.Done != 3 || result.Skipped != 1 {
			b.Fatalf("%+v, %v", result, err)
		}
		if b.inboxState("k0000") != inbox.Discarded || b.inboxState("k0005") != inbox.Discarded || b.inboxState("k0001") != inbox.Dead {
			b.Error("inbox rows")
		}
		trail, err := b.st.Letters().Trail(b.ctx, same)
		if err != nil || len(trail) != 1 || trail[0].Action != "discard" || trail[0].Reason != "test data" {
			b.Errorf("%+v, %v", trail, err)
		}
		// A discarded letter is not redriven.
		if result, err := b.admin.Redrive(b.ctx, only(ids[0])); err != nil || result.Done != 0 || result.Skipped != 1 {
			b.Errorf("%+v, %v", result, err)
		}
	})
}

// The row of a conflict's key belongs to another message.
func TestDiscardOfAConflictLeavesTheFirst(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(letter("k"))
		id := b.die(letter("k", conflict))[0]
		result, err := b.admin.Discard(b.ctx, redrive.Request{Filter: dlq.Filter{Class: dlq.Conflict}, By: "ann", Reason: "duplicate id"})
		if err != nil || result.Done != 1 || b.letterState(id) != dlq.Discarded || b.inboxState("k") != inbox.Dead {
			b.Errorf("%+v, %v", result, err)
		}
	})
}

// Bad input 52: nothing is chosen by default, and nothing is half meant.
func TestRequestsAreRefused(t *testing.T) {
	admin := redrive.New(nil) // a refused request touches no store
	narrow := dlq.Filter{Consumer: "billing"}
	one := dlq.Filter{IDs: []int64{1}}
	for what, r := range map[string]redrive.Request{
		"no filter":            {By: "ann"},
		"only a state":         {By: "ann", Filter: dlq.Filter{State: dlq.Open}},
		"another state":        {By: "ann", All: true, Filter: dlq.Filter{State: dlq.Discarded}},
		"any state":            {By: "ann", All: true, Filter: dlq.Filter{AnyState: true}},
		"empty ids":            {By: "ann", All: true, Filter: dlq.Filter{IDs: []int64{}}},
		"negative limit":       {By: "ann", Filter: narrow, Limit: -1},
		"blank By":             {By: " ", Filter: narrow},
		"new key for many":     {By: "ann", Filter: narrow, NewKey: "k"},
		"new key for two":      {By: "ann", Filter: dlq.Filter{IDs: []int64{1, 2}}, NewKey: "k"},
		"long new key":         {By: "ann", Filter: one, NewKey: strings.Repeat("k", 513)},
		"new key with NUL":     {By: "ann", Filter: one, NewKey: "a\x00"},
		"new key of bad bytes": {By: "ann", Filter: one, NewKey: "\xff"},
	} {
		if _, err := admin.Redrive(t.Context(), r); !errors.Is(err, redrive.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := admin.Discard(t.Context(), redrive.Request{By: "ann", Filter: one}); !errors.Is(err, redrive.ErrInvalid) {
		t.Errorf("discard without a reason: %v", err)
	}
	for _, limit := range []int{-1, 0, 1001} {
		if _, err := admin.List(t.Context(), dlq.Filter{}, 0, limit); !errors.Is(err, redrive.ErrInvalid) {
			t.Errorf("list %d: %v", limit, err)
		}
	}
}

func TestNarrows(t *testing.T) {
	for _, f := range []dlq.Filter{
		{IDs: []int64{1}}, {Consumer: "a"}, {Handler: "a"}, {Topic: "a"}, {Class: dlq.Permanent}, {ErrorFingerprint: "a"}, {Key: "a"},
		{Since: time.Unix(1, 0)}, {Until: time.Unix(1, 0)},
	} {
		if !f.Narrows() {
			t.Errorf("%+v", f)
		}
	}
	if (dlq.Filter{State: dlq.Redriven, AnyState: true}).Narrows() {
		t.Error("a state narrows nothing")
	}
}
