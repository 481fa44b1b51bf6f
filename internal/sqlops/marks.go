package sqlops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Marks implements instance.Marks.
type Marks struct {
	sqlrun.Table[struct {
		Write, Remove, List, CountDeath, Accuse, Suspects, Clear string

		Revive, AccuseRemove string `sql:"optional"`
	}]
}

func (s *Marks) Mark(ctx context.Context, m instance.Mark) (err error) {
	defer sqlrun.Wrap("mark", &err)
	if len(m.Messages) == 0 {
		_, err := s.Write(ctx, s.SQL.Remove, m.Instance, m.Worker)
		return err
	}
	messages := make([]byte, 0, len(m.Messages)*len(instance.Hash{}))
	for _, h := range m.Messages {
		messages = append(messages, h[:]...)
	}
	return s.Transact(ctx, func(t *txn.Txn) error {
		if err := sqlrun.Steps(ctx, t, []any{m.Instance}, s.SQL.Revive); err != nil {
			return err
		}
		n, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.Write, m.Instance, m.Worker, messages, m.Alone))
		if err == nil && n == 0 {
			err = instance.ErrUnknown
		}
		return err
	})
}

// hashes scans concatenated hashes.
type hashes []instance.Hash

func (h *hashes) Scan(v any) error {
	b, err := sqlrun.Bytes(v)
	if err == nil && len(b)%len(instance.Hash{}) != 0 {
		err = fmt.Errorf("%d bytes are no hashes", len(b))
	}
	if *h = nil; err != nil {
		return err
	}
	for one := range slices.Chunk(b, len(instance.Hash{})) {
		*h = append(*h, instance.Hash(one))
	}
	return nil
}

func (s *Marks) Marks(ctx context.Context, consumer, except string) (marks []instance.Mark, err error) {
	defer sqlrun.Wrap("read marks", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.List, []any{consumer, except}, func(m *instance.Mark) []any {
		return []any{&m.Instance, &m.Worker, (*hashes)(&m.Messages), &m.Alone}
	})
}

func (s *Marks) CountDeath(ctx context.Context, id string, missed time.Duration) (counted bool, err error) {
	defer sqlrun.Wrap("count a death", &err)
	err = s.Transact(ctx, func(t *txn.Txn) error {
		n, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.CountDeath, id, sqlrun.Micros(missed)))
		if counted = n > 0; err != nil || !counted {
			return err
		}
		return sqlrun.Steps(ctx, t, []any{id}, s.SQL.Accuse, s.SQL.AccuseRemove)
	})
	return counted && err == nil, err
}

func (s *Marks) Suspects(ctx context.Context, consumer string, limit int) (suspects []instance.Suspect, err error) {
	defer sqlrun.Wrap("read suspects", &err)
	type row struct {
		instance.Suspect
		message hashes
	}
	rows, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Suspects, []any{consumer, limit}, func(r *row) []any {
		return []any{&r.message, &r.Alone, &r.Beside}
	})
	if err != nil {
		return nil, err
	}
	return sqlrun.Column(rows, func(r *row) instance.Suspect {
		r.Message = r.message[0] // the table allows no other length
		return r.Suspect
	}), nil
}

func (s *Marks) Clear(ctx context.Context, consumer string, message instance.Hash) (err error) {
	defer sqlrun.Wrap("clear a suspect", &err)
	_, err = s.Write(ctx, s.SQL.Clear, consumer, message[:])
	return err
}
