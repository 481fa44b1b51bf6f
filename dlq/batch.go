package dlq

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/store/txn"
)

// batch is what one transaction found and did.
type batch struct {
	// read are the ids that the filter chose, in order; taken is what was moved of
	// them, and bytes the size of that.
	read  []int64
	taken []Letter
	bytes int
	skips []Skip
	// unknown is how many letters were in a commit whose outcome could not be read.
	unknown int
}

// once runs one transaction: take letters, apply, audit, commit.
func (s *sweep) once(ctx context.Context, f Filter, after int64, fl *flight) (batch, error) {
	t, err := s.st.Begin(ctx)
	if err != nil {
		return batch{}, err
	}
	defer t.Rollback()
	b, err := s.take(ctx, t, f, after, fl)
	if err != nil || len(b.taken) == 0 {
		return b, err
	}
	rows := make([]Audit, 0, len(b.taken))
	for _, l := range b.taken {
		row := s.audit
		row.LetterID = l.LetterID
		rows = append(rows, row)
	}
	if err := s.st.Letters().Record(ctx, t, rows); err != nil {
		return b, fmt.Errorf("write the audit trail: %w", err)
	}
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
	defer cancel()
	if err := s.st.Commit(commit, t, nil); err != nil {
		return b, fmt.Errorf("commit: %w", err)
	}
	return b, nil
}

// take moves letters and applies what follows. Letters that may not move are rolled
// back into the open state and the others are taken again, fewer each time.
func (s *sweep) take(ctx context.Context, t *txn.Txn, f Filter, after int64, fl *flight) (batch, error) {
	var b batch
	for {
		if err := t.Savepoint(ctx); err != nil {
			return b, fmt.Errorf("set a savepoint: %w", err)
		}
		letters, err := s.st.Letters().Take(ctx, t, f, s.to, after, fl.limit)
		if err != nil {
			return b, fmt.Errorf("take letters: %w", err)
		}
		if b.read == nil {
			b.read = idsOf(letters)
			fl.tell(b.read)
		}
		if err := fl.turn(letters); err != nil {
			return b, err
		}
		refused, err := s.refuse(ctx, t, letters)
		if err != nil {
			return b, err
		}
		if len(refused) == 0 {
			b.taken, b.bytes = letters, sizeOf(letters)
			return b, t.Release(ctx)
		}
		if err := undo(ctx, t); err != nil {
			return b, err
		}
		b.skips = append(b.skips, refused...)
		if f = (Filter{IDs: without(letters, refused)}); len(f.IDs) == 0 {
			return b, nil
		}
	}
}

// refuse applies, unless letters are among them that came after the start.
func (s *sweep) refuse(ctx context.Context, t *txn.Txn, letters []Letter) ([]Skip, error) {
	var late []Skip
	for _, l := range letters {
		if l.LetterID > s.newest {
			late = append(late, Skip{LetterID: l.LetterID})
		}
	}
	if len(late) > 0 || len(letters) == 0 {
		return late, nil
	}
	return s.apply(ctx, t, letters)
}

func undo(ctx context.Context, t *txn.Txn) error {
	if err := t.RollbackTo(ctx); err != nil {
		return fmt.Errorf("leave letters open: %w", err)
	}
	if err := t.Release(ctx); err != nil {
		return fmt.Errorf("leave letters open: %w", err)
	}
	return nil
}

func idsOf(letters []Letter) []int64 {
	ids := make([]int64, 0, len(letters))
	for _, l := range letters {
		ids = append(ids, l.LetterID)
	}
	return ids
}

func sizeOf(letters []Letter) (bytes int) {
	for _, l := range letters {
		bytes += len(l.Delivery.Payload) + len(l.Stack)
	}
	return bytes
}

// without returns the ids of letters that are not refused.
func without(letters []Letter, refused []Skip) []int64 {
	out := make(map[int64]bool, len(refused))
	for _, skip := range refused {
		out[skip.LetterID] = true
	}
	var ids []int64
	for _, l := range letters {
		if !out[l.LetterID] {
			ids = append(ids, l.LetterID)
		}
	}
	return ids
}
