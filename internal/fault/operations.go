package fault

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

// instances are written without a transaction of Begin's.
type instances struct {
	instance.Store
	at Hook
}

func (s instances) Start(ctx context.Context, i instance.Instance) error {
	return s.call(func() error { return s.Store.Start(ctx, i) })
}

func (s instances) Beat(ctx context.Context, id string, w instance.Work) error {
	return s.call(func() error { return s.Store.Beat(ctx, id, w) })
}

func (s instances) End(ctx context.Context, id string) error {
	return s.call(func() error { return s.Store.End(ctx, id) })
}

func (s instances) Forget(ctx context.Context, age time.Duration) error {
	return s.call(func() error { return s.Store.Forget(ctx, age) })
}

func (s instances) call(f func() error) error { return s.at.call(f) }

// marks are written without a transaction of Begin's.
type marks struct {
	markStore
	at Hook
}

type markStore interface{ instance.Marks }

func (s marks) Mark(ctx context.Context, m instance.Mark) error {
	return s.at.call(func() error { return s.markStore.Mark(ctx, m) })
}

func (s marks) Clear(ctx context.Context, consumer string, message instance.Hash) error {
	return s.at.call(func() error { return s.markStore.Clear(ctx, consumer, message) })
}

func (h Hook) call(f func() error) error {
	if err := h.reach(Call); err != nil {
		return err
	}
	return f()
}

// steps are changed without a transaction of Begin's.
type steps struct {
	ledger.Store
	at Hook
}

func (s steps) Mark(ctx context.Context, l backlog.Lease, r ledger.Row) (bool, error) {
	return s.change(Call, StepMarked, func() (bool, error) { return s.Store.Mark(ctx, l, r) })
}

func (s steps) Repeat(ctx context.Context, l backlog.Lease, was, r ledger.Row) (bool, error) {
	return s.change(Call, StepMarked, func() (bool, error) { return s.Store.Repeat(ctx, l, was, r) })
}

func (s steps) RecordDone(ctx context.Context, r ledger.Row) (bool, error) {
	return s.change(StepCalled, StepRecorded, func() (bool, error) { return s.Store.RecordDone(ctx, r) })
}

func (s steps) RecordOutcome(ctx context.Context, l backlog.Lease, r ledger.Row) (bool, error) {
	return s.change(Call, Call, func() (bool, error) { return s.Store.RecordOutcome(ctx, l, r) })
}

func (s steps) RecordDouble(ctx context.Context, r ledger.Row) (bool, error) {
	return s.change(Call, Call, func() (bool, error) { return s.Store.RecordDouble(ctx, r) })
}

// change calls f, which commits, between two points.
func (s steps) change(before, after Point, f func() (bool, error)) (bool, error) {
	for _, p := range []Point{Call, before} {
		if err := s.at.reach(p); err != nil {
			return false, err
		}
	}
	changed, err := f()
	if err != nil {
		return false, err
	}
	if err := s.at.reach(after); err != nil {
		return false, fmt.Errorf("%w: %w", txn.ErrCommitUnknown, err)
	}
	return changed, nil
}

// memos are written without a transaction of Begin's.
type memos struct {
	ledger.Memos
	at Hook
}

func (s memos) Take(ctx context.Context, m ledger.Memo, term time.Duration) (state ledger.MemoState, left time.Duration, err error) {
	err = s.at.call(func() error { state, left, err = s.Memos.Take(ctx, m, term); return err })
	return state, left, err
}

func (s memos) Adopt(ctx context.Context, m ledger.Memo, l backlog.Lease, r ledger.Row) (did bool, err error) {
	err = s.at.call(func() error { did, err = s.Memos.Adopt(ctx, m, l, r); return err })
	return did, err
}

func (s memos) Put(ctx context.Context, m ledger.Memo, result []byte, keep time.Duration) (recorded []byte, err error) {
	err = s.at.call(func() error { recorded, err = s.Memos.Put(ctx, m, result, keep); return err })
	return recorded, err
}

func (s memos) Release(ctx context.Context, m ledger.Memo) error {
	return s.at.call(func() error { return s.Memos.Release(ctx, m) })
}

// pruner removes a batch in a transaction of its own.
type pruner struct {
	inbox.Pruner
	at Hook
}

func (p pruner) Messages(ctx context.Context, r inbox.PruneRequest) (inbox.Pruned, error) {
	return p.batch(func() (inbox.Pruned, error) { return p.Pruner.Messages(ctx, r) })
}

func (p pruner) Letters(ctx context.Context, r inbox.PruneRequest) (inbox.Pruned, error) {
	return p.batch(func() (inbox.Pruned, error) { return p.Pruner.Letters(ctx, r) })
}

func (p pruner) batch(f func() (inbox.Pruned, error)) (inbox.Pruned, error) {
	if err := p.at.reach(Call); err != nil {
		return inbox.Pruned{}, err
	}
	done, err := f()
	if err != nil || done.Next == "" {
		return done, err
	}
	return done, p.at.reach(PruneBetween)
}

func (p pruner) Take(ctx context.Context, consumer string, lease time.Duration) (string, bool, error) {
	if err := p.at.reach(Call); err != nil {
		return "", false, err
	}
	return p.Pruner.Take(ctx, consumer, lease)
}

func (p pruner) Keep(ctx context.Context, consumer, position string, rest time.Duration) error {
	if err := p.at.reach(Call); err != nil {
		return err
	}
	return p.Pruner.Keep(ctx, consumer, position, rest)
}
