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
	"github.com/headrace/headrace/internal/sqlops"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// pruneStore implements inbox.Pruner. It looks for old rows without blocking writers, and
// takes a turn to write only for the rows that it has found.
type pruneStore struct {
	*sqlops.Rounds
	sql struct {
		Stretch, Look, Messages, Attempts, Steps, Answers string
		LookLetters, Dead, Audit, Edits, Letters          string
	}
}

// pruneStretch is how many rows of the inbox one look reads at most.
const pruneStretch = 10_000

// above is a value above every text: SQLite sorts blobs behind them.
var above = []byte{0}

// Messages implements inbox.Pruner. It walks along the primary key, which is the table.
func (p *pruneStore) Messages(ctx context.Context, r inbox.PruneRequest) (done inbox.Pruned, err error) {
	defer sqlrun.Wrap("prune messages", &err)
	from, top, err := bounds(r)
	if err != nil {
		return done, err
	}
	var next inbox.ID
	end := []any{top, ""}
	err = p.Reader().QueryRowContext(ctx, p.sql.Stretch, from.Scope, from.Key, top, pruneStretch).Scan(&next.Scope, &next.Key)
	switch {
	case err == nil:
		end = []any{next.Scope, next.Key}
	case !errors.Is(err, sql.ErrNoRows):
		return done, err
	}
	old, err := sqlrun.Collect(ctx, p.Reader(), p.sql.Look, []any{from.Scope, from.Key, end[0], end[1], sqlrun.Micros(r.Window), r.Limit}, idFields)
	if err != nil {
		return done, err
	}
	if len(old) == r.Limit {
		next = old[len(old)-1]
	}
	removed := 0
	if len(old) > 0 {
		if removed, err = p.remove(ctx, old, r.Window); err != nil {
			return done, err
		}
	}
	return inbox.Pruned{Messages: int64(removed), Next: position(next)}, nil
}

func (p *pruneStore) remove(ctx context.Context, old []inbox.ID, window time.Duration) (n int, err error) {
	all := p.Many(sqlrun.IDs(old)...)
	err = p.Transact(ctx, func(t *txn.Txn) error {
		n, err = sqlrun.Affected(t.ExecContext(ctx, p.sql.Messages, all[0], sqlrun.Micros(window)))
		if err != nil {
			return err
		}
		return sqlrun.Steps(ctx, t, all, p.sql.Attempts, p.sql.Steps, p.sql.Answers)
	})
	return n, err
}

// bounds returns the start of a batch, and the upper bound of its scopes.
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

// position returns the text for a position in the walk; "" for its end.
func position(id inbox.ID) string {
	if id == (inbox.ID{}) {
		return ""
	}
	b, _ := json.Marshal([2]string{id.Scope, id.Key}) // strings always have a JSON form
	return string(b)
}

// oldLetter is a letter that may be deleted; lost says that its message goes with it.
type oldLetter struct {
	inbox.ID
	letter int64
	lost   bool
}

// Letters implements inbox.Pruner. Under the write lock it looks again, and removes the
// letters that it finds then.
func (p *pruneStore) Letters(ctx context.Context, r inbox.PruneRequest) (done inbox.Pruned, err error) {
	defer sqlrun.Wrap("prune letters", &err)
	from, err := sqlops.LetterAfter(r.From)
	if err != nil {
		return done, err
	}
	old, err := p.oldLetters(ctx, p.Reader(), from, r)
	if err != nil || len(old) == 0 {
		return done, err
	}
	err = p.Transact(ctx, func(t *txn.Txn) error {
		if old, err = p.oldLetters(ctx, t, from, r); err != nil {
			return err
		}
		var ids []int64
		var lost []inbox.ID
		for _, l := range old {
			ids = append(ids, l.letter)
			if l.lost {
				lost = append(lost, l.ID)
			}
		}
		done.Letters, done.Messages = int64(len(ids)), int64(len(lost))
		if err := sqlrun.Steps(ctx, t, p.Many(sqlrun.IDs(lost)...), p.sql.Dead, p.sql.Attempts, p.sql.Steps); err != nil {
			return err
		}
		return sqlrun.Steps(ctx, t, p.Many(ids), p.sql.Audit, p.sql.Edits, p.sql.Letters)
	})
	if err != nil {
		return inbox.Pruned{}, err
	}
	if len(old) == r.Limit {
		done.Next = strconv.FormatInt(old[len(old)-1].letter, 10)
	}
	return done, err
}

func (p *pruneStore) oldLetters(ctx context.Context, q sqlrun.Reader, from int64, r inbox.PruneRequest) (old []oldLetter, err error) {
	defer sqlrun.Wrap("look for old letters", &err)
	args := []any{from, r.Consumer, sqlrun.Micros(r.DeadLetters), sqlrun.Micros(r.OpenLetters), r.Limit, sqlrun.Micros(r.Window)}
	return sqlrun.Collect(ctx, q, p.sql.LookLetters, args, func(l *oldLetter) []any {
		return []any{&l.letter, &l.Scope, &l.Key, &l.lost}
	})
}
