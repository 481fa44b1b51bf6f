package group

import (
	"context"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
)

// versioned gives the handlers of a rig the store's versions.
func versioned(r *rig) {
	r.o.Versions = r.Store.(interface{ Operations() store.Operations }).Operations().Versions
}

// revision is the version that the message of a key carries.
var revision = map[string]int64{"one": 1, "two": 2, "two again": 2, "three": 3}

// DESIGN 3 "Group commit", ErrStale, in one transaction: "one" is behind "two", which is
// then given up. Nothing newer was applied, so "one" is.
func TestStaleBehindANeighbourThatFails(t *testing.T) {
	runs := make(map[string]int)
	r := newRig(t, func(ctx context.Context, tx *headrace.Tx, key string) error {
		if err := inbox.Newer(ctx, tx, "order 7", revision[key]); err != nil {
			return err
		}
		if runs[key]++; key == "two" && runs[key] == 2 {
			return retry.Permanent(errBoom)
		}
		return nil
	}, versioned)
	want(t, "ends", r.process("two", "one"), "two dead, one applied")
	want(t, "attempts of one", r.attempts("one"), 0)
}

// With a neighbour that is applied after all, the older and the equal one are stale.
func TestStaleInAGroup(t *testing.T) {
	r := newRig(t, func(ctx context.Context, tx *headrace.Tx, key string) error {
		return inbox.Newer(ctx, tx, "order 7", revision[key])
	}, versioned)
	want(t, "ends", r.process("two", "one", "two again", "three"), "two applied, three applied, two again stale, one stale")
	want(t, "state", r.state("one"), inbox.Done)
}

// A batch that names its stale messages.
func TestStaleInABatch(t *testing.T) {
	r := newRig(t, nil, versioned, func(r *rig) {
		r.h.Batch = true
		r.h.Run = func(ctx context.Context, tx *headrace.Tx, inputs []Input) error {
			failed := batchFailure{}
			for i, in := range inputs {
				if err := inbox.Newer(ctx, tx, "order 7", revision[in.Delivery.Key]); err != nil {
					failed[i] = err
				}
			}
			if len(failed) > 0 {
				return failed
			}
			return nil
		}
	})
	want(t, "ends", r.process("two", "one", "two again", "three"), "two applied, three applied, one stale, two again stale")
}

// A run that is rolled back leaves no version behind: the rerun after a deadlock is as
// new as the first.
func TestRerunFindsNoVersion(t *testing.T) {
	runs := 0
	r := newRig(t, func(ctx context.Context, tx *headrace.Tx, key string) error {
		if err := inbox.Newer(ctx, tx, "order 7", revision[key]); err != nil {
			return err
		}
		if runs++; runs == 1 {
			return deadlock
		}
		return nil
	}, versioned)
	want(t, "ends", r.process("two"), "two applied")
}

// The same in the drain.
func TestLineStaleBehindANeighbourThatFails(t *testing.T) {
	runs := make(map[string]int)
	r := newRig(t, func(ctx context.Context, tx *headrace.Tx, key string) error {
		if err := inbox.Newer(ctx, tx, "order 7", revision[key]); err != nil {
			return err
		}
		if runs[key]++; key == "two" && runs[key] == 2 {
			return retry.Permanent(errBoom)
		}
		return nil
	}, versioned)
	r.work(r.line("two", "one"))
	want(t, "dead", r.hooks("drained dead"), 1)
	want(t, "applied", r.hooks("drained applied"), 1)
	want(t, "stale", r.hooks("drained stale"), 0)
}
