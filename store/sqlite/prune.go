package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// pruneStore implements inbox.Pruner. It looks beside the writer, and takes a turn to
// write only for what it has found.
type pruneStore struct {
	s *Store

	stretch, look, messages, attempts, countMessages string
	lookLetters, dead, audit, letters, countLetters  string
	due, take, keep                                  string
}

var _ inbox.Pruner = (*pruneStore)(nil)

func newPrune(s *Store, q queries) *pruneStore {
	return &pruneStore{
		s:             s,
		stretch:       q.get("prune_stretch"),
		look:          q.get("prune_look"),
		messages:      q.get("prune_messages"),
		attempts:      q.get("prune_attempts"),
		countMessages: q.get("prune_count_messages"),
		lookLetters:   q.get("prune_look_letters"),
		dead:          q.get("prune_dead"),
		audit:         q.get("prune_audit"),
		letters:       q.get("prune_letters"),
		countLetters:  q.get("prune_count_letters"),
		due:           q.get("prune_due"),
		take:          q.get("prune_take"),
		keep:          q.get("prune_keep"),
	}
}

// pruneStretch is how many rows of the inbox one look goes over at the most.
const pruneStretch = 10_000

// above is a value above every text: SQLite sorts blobs behind them.
var above = []byte{0}

// Messages implements inbox.Pruner. The walk goes along the primary key, which is the
// table.
func (p *pruneStore) Messages(ctx context.Context, r inbox.PruneRequest) (inbox.Pruned, error) {
	from, top, err := bounds(r)
	if err != nil {
		return inbox.Pruned{}, err
	}
	var next inbox.ID
	end := []any{top, ""}
	err = p.s.read.QueryRowContext(ctx, p.stretch, from.Scope, from.Key, top, pruneStretch).Scan(&next.Scope, &next.Key)
	switch {
	case err == nil:
		end = []any{next.Scope, next.Key}
	case !errors.Is(err, sql.ErrNoRows):
		return inbox.Pruned{}, fmt.Errorf("prune messages: %w", err)
	}
	old, err := collect(ctx, p.s.read, p.look, []any{from.Scope, from.Key, end[0], end[1], us(r.Window), r.Limit}, readID)
	if err != nil {
		return inbox.Pruned{}, fmt.Errorf("prune messages: %w", err)
	}
	if len(old) == r.Limit {
		next = old[len(old)-1]
	}
	done := inbox.Pruned{Next: position(next)}
	if len(old) == 0 {
		return done, nil
	}
	done.Messages, err = p.remove(ctx, old, r.Window)
	if err != nil {
		return inbox.Pruned{}, fmt.Errorf("prune messages: %w", err)
	}
	return done, nil
}

func (p *pruneStore) remove(ctx context.Context, old []inbox.ID, window time.Duration) (int64, error) {
	all, err := pairs(old)
	if err != nil {
		return 0, err
	}
	t, err := p.s.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer t.Rollback()
	result, err := t.SQL().ExecContext(ctx, p.messages, all, us(window))
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, err
	}
	if _, err := t.SQL().ExecContext(ctx, p.attempts, all); err != nil {
		return 0, err
	}
	return n, p.s.Commit(ctx, t, nil)
}

// bounds returns where a batch begins, and what its scopes are below.
func bounds(r inbox.PruneRequest) (from inbox.ID, top any, err error) {
	top = above
	if r.Consumer != "" {
		from.Scope, top = r.Consumer+"/", r.Consumer+"0" // the byte after the slash
	}
	if r.From == "" {
		return from, top, nil
	}
	var pair [2]string
	if err := json.Unmarshal([]byte(r.From), &pair); err != nil {
		return from, top, fmt.Errorf("%q is no place in the inbox: %w", r.From, err)
	}
	return inbox.ID{Scope: pair[0], Key: pair[1]}, top, nil
}

// position is the text for a place in the walk; "" for its end.
func position(id inbox.ID) string {
	if id == (inbox.ID{}) {
		return ""
	}
	b, _ := json.Marshal([2]string{id.Scope, id.Key}) // strings always have a JSON form
	return string(b)
}

func pairs(ids []inbox.ID) (string, error) {
	all := make([][2]string, len(ids))
	for i, id := range ids {
		all[i] = [2]string{id.Scope, id.Key}
	}
	return list(all)
}

// oldLetter is a letter that may go; lost says that its message goes with it.
type oldLetter struct {
	inbox.ID
	letter int64
	lost   bool
}

// Letters implements inbox.Pruner.
func (p *pruneStore) Letters(ctx context.Context, r inbox.PruneRequest) (inbox.Pruned, error) {
	from := int64(0)
	var err error
	if r.From != "" {
		if from, err = strconv.ParseInt(r.From, 10, 64); err != nil {
			return inbox.Pruned{}, fmt.Errorf("prune letters: %w", err)
		}
	}
	old, err := p.oldLetters(ctx, p.s.read, from, r)
	if err != nil || len(old) == 0 {
		return inbox.Pruned{}, err
	}
	done, err := p.removeLetters(ctx, from, r)
	if err != nil {
		return inbox.Pruned{}, fmt.Errorf("prune letters: %w", err)
	}
	return done, nil
}

func (p *pruneStore) oldLetters(ctx context.Context, q querier, from int64, r inbox.PruneRequest) ([]oldLetter, error) {
	old, err := collect(ctx, q, p.lookLetters, []any{from, r.Consumer, us(r.DeadLetters), us(r.OpenLetters), r.Limit}, func(row scanner) (oldLetter, error) {
		var l oldLetter
		err := row.Scan(&l.letter, &l.Scope, &l.Key, &l.lost)
		return l, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for old letters: %w", err)
	}
	return old, nil
}

// removeLetters looks again under the write lock, and removes what it finds.
func (p *pruneStore) removeLetters(ctx context.Context, from int64, r inbox.PruneRequest) (done inbox.Pruned, err error) {
	t, err := p.s.Begin(ctx)
	if err != nil {
		return done, err
	}
	defer t.Rollback()
	old, err := p.oldLetters(ctx, t.SQL(), from, r)
	if err != nil {
		return done, err
	}
	var ids []int64
	var lost []inbox.ID
	for _, l := range old {
		ids = append(ids, l.letter)
		if l.lost {
			lost = append(lost, l.ID)
		}
	}
	if err := p.removeAll(ctx, t, ids, lost); err != nil {
		return done, err
	}
	if len(old) == r.Limit {
		done.Next = strconv.FormatInt(ids[len(ids)-1], 10)
	}
	done.Letters, done.Messages = int64(len(ids)), int64(len(lost))
	return done, p.s.Commit(ctx, t, nil)
}

func (p *pruneStore) removeAll(ctx context.Context, t *txn.Txn, letters []int64, lost []inbox.ID) error {
	messages, err := pairs(lost)
	if err != nil {
		return err
	}
	for _, step := range []struct{ query, arg string }{
		{p.dead, messages}, {p.attempts, messages}, {p.audit, rowIDs(letters)}, {p.letters, rowIDs(letters)},
	} {
		if _, err := t.SQL().ExecContext(ctx, step.query, step.arg); err != nil {
			return err
		}
	}
	return nil
}

// Count implements inbox.Pruner.
func (p *pruneStore) Count(ctx context.Context, r inbox.PruneRequest) (inbox.Pruned, error) {
	var found inbox.Pruned
	prefix := ""
	if r.Consumer != "" {
		prefix = r.Consumer + "/"
	}
	if err := p.s.read.QueryRowContext(ctx, p.countMessages, us(r.Window), prefix).Scan(&found.Messages); err != nil {
		return found, fmt.Errorf("count old messages: %w", err)
	}
	lost := int64(0)
	err := p.s.read.QueryRowContext(ctx, p.countLetters, r.Consumer, us(r.DeadLetters), us(r.OpenLetters), us(r.Window), prefix).Scan(&found.Letters, &lost)
	if err != nil {
		return found, fmt.Errorf("count old letters: %w", err)
	}
	found.Messages += lost
	return found, nil
}
