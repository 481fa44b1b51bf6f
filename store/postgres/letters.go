package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store/txn"
)

// letterStore implements dlq.Store.
type letterStore struct {
	db   *sql.DB
	plan planner

	insert, existing    string
	get, list, groups   string
	groupsOpen          string
	take, count         string
	recordAudit, trails string
}

func newLetters(db *sql.DB, plan planner, queries map[string]string) *letterStore {
	return &letterStore{
		db: db, plan: plan,
		insert:      sqlfile.Get(queries, "letters_insert"),
		existing:    sqlfile.Get(queries, "letters_insert_existing"),
		get:         sqlfile.Get(queries, "letters_get"),
		list:        sqlfile.Get(queries, "letters_list"),
		groups:      sqlfile.Get(queries, "letters_groups"),
		groupsOpen:  sqlfile.Get(queries, "letters_groups_open"),
		take:        sqlfile.Get(queries, "letters_take"),
		count:       sqlfile.Get(queries, "letters_count"),
		recordAudit: sqlfile.Get(queries, "letters_record"),
		trails:      sqlfile.Get(queries, "letters_trail"),
	}
}

// maxChain is how many errors of a chain are kept.
const maxChain = 32

// Insert implements dlq.Store.
func (s *letterStore) Insert(ctx context.Context, t *txn.Txn, l dlq.Letter) (int64, bool, error) {
	d := &l.Delivery
	if err := identity(l.Consumer, l.Handler, d.Scope, d.Key, d.OrderKey, d.Fingerprint, l.FirstPrint, l.ErrorPrint); err != nil {
		return 0, false, fmt.Errorf("insert dead letter: %w", err)
	}
	chain, err := chainJSON(l.Chain)
	if err != nil {
		return 0, false, fmt.Errorf("insert dead letter: %w", err)
	}
	args := []any{
		string(l.Class), l.Consumer, l.Handler, d.Scope, d.Key, d.OrderKey, l.Strict, d.Fingerprint, l.FirstPrint,
		encode.Text(d.ID, maxName), encode.Text(d.Topic, maxName), bytes(d.Payload), encode.Metadata(d.Metadata),
		coordinates(d.Coordinates), encode.Text(d.Trace.Parent, maxTrace), encode.Text(d.Trace.State, maxTrace),
		encode.Text(l.Error, maxError), l.ErrorPrint, chain, encode.Text(l.Stack, maxStack), l.Attempts,
		l.PreviousID, l.Redrives, encode.Text(l.Host, maxName), encode.Text(l.Build, maxName),
		encode.Text(d.ReplyTopic, maxName),
	}
	for range maxVanished {
		var id int64
		err := s.plan.on(t.SQL()).QueryRowContext(ctx, s.insert, args...).Scan(&id)
		if err == nil {
			return id, true, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return 0, false, fmt.Errorf("insert dead letter: %w", err)
		}
		err = s.plan.on(t.SQL()).QueryRowContext(ctx, s.existing, d.Scope, d.Key, d.Fingerprint).Scan(&id)
		if err == nil {
			return id, false, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return 0, false, fmt.Errorf("look for the open dead letter: %w", err)
		}
		// Somebody took the open one in between: there is room for this one now.
	}
	return 0, false, errors.New("insert dead letter: the open one vanished, again and again")
}

func chainJSON(chain []string) (string, error) {
	texts := make([]string, 0, min(len(chain), maxChain))
	for _, text := range chain[:min(len(chain), maxChain)] {
		texts = append(texts, encode.Text(text, maxName))
	}
	b, err := json.Marshal(texts)
	return string(b), err
}

// Take implements dlq.Store.
func (s *letterStore) Take(ctx context.Context, t *txn.Txn, f dlq.Filter, to dlq.State, after int64, limit int) ([]dlq.Letter, error) {
	letters, err := readLetters(ctx, s.plan.on(t.SQL()), s.take, append(filterArgs(f), after, limit, string(to))...)
	if err != nil {
		return nil, fmt.Errorf("take dead letters: %w", err)
	}
	return letters, nil
}

// Record implements dlq.Store.
func (s *letterStore) Record(ctx context.Context, t *txn.Txn, rows []dlq.Audit) error {
	type audit = dlq.Audit
	if len(rows) == 0 {
		return nil
	}
	_, err := s.plan.on(t.SQL()).ExecContext(ctx, s.recordAudit,
		column(rows, func(a *audit) int64 { return a.LetterID }),
		column(rows, func(a *audit) string { return a.Action }),
		column(rows, func(a *audit) string { return encode.Text(a.By, maxName) }),
		column(rows, func(a *audit) string { return encode.Text(a.Reason, maxError) }),
		column(rows, func(a *audit) string { return encode.Text(a.NewKey, maxName) }))
	if err != nil {
		return fmt.Errorf("record what was done: %w", err)
	}
	return nil
}
