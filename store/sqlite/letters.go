package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/store/txn"
)

// letterStore implements dlq.Store.
type letterStore struct {
	s *Store

	insert, existing, get, list, groups, groupsOpen, take, record, trail, count string
}

var _ dlq.Store = (*letterStore)(nil)

func newLetters(s *Store, q queries) *letterStore {
	return &letterStore{
		s:        s,
		insert:   q.get("letters_insert"),
		existing: q.get("letters_insert_existing"),
		get:      q.get("letters_get"),
		list:     q.get("letters_list"),
		groups:   q.get("letters_groups"),

		groupsOpen: q.get("letters_groups_open"),

		take:   q.get("letters_take"),
		record: q.get("letters_record"),
		trail:  q.get("letters_trail"),
		count:  q.get("letters_count"),
	}
}

// maxChain is how many errors of a chain are kept.
const maxChain = 32

// Insert implements dlq.Store.
func (s *letterStore) Insert(ctx context.Context, t *txn.Txn, l dlq.Letter) (id int64, written bool, err error) {
	args, err := letterArgs(l)
	if err != nil {
		return 0, false, fmt.Errorf("insert letter: %w", err)
	}
	err = t.QueryRowContext(ctx, s.insert, args...).Scan(&id)
	if err == nil {
		return id, true, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, false, fmt.Errorf("insert letter: %w", err)
	}
	d := l.Delivery
	if err := t.QueryRowContext(ctx, s.existing, d.Scope, d.Key, d.Fingerprint).Scan(&id); err != nil {
		return 0, false, fmt.Errorf("look up the open letter: %w", err)
	}
	return id, false, nil
}

func letterArgs(l dlq.Letter) ([]any, error) {
	d := l.Delivery
	if err := identity(l.Consumer, l.Handler, d.Scope, d.Key, d.OrderKey, d.Fingerprint, l.FirstPrint, l.ErrorPrint); err != nil {
		return nil, err
	}
	coordinates, err := list(d.Coordinates)
	if err != nil {
		return nil, err
	}
	texts := []string{}
	for _, text := range l.Chain[:min(len(l.Chain), maxChain)] {
		texts = append(texts, encode.Text(text, maxName))
	}
	chain, err := list(texts)
	if err != nil {
		return nil, err
	}
	return []any{
		string(l.Class), l.Consumer, l.Handler, d.Scope, d.Key, d.OrderKey, l.Strict, d.Fingerprint,
		l.FirstPrint, encode.Text(d.ID, maxName), encode.Text(d.Topic, maxName), blob(d.Payload),
		encode.Metadata(d.Metadata), coordinates, encode.Text(d.Trace.Parent, maxTrace), encode.Text(d.Trace.State, maxTrace),
		encode.Text(l.Error, maxError), l.ErrorPrint, chain, encode.Text(l.Stack, maxStack), l.Attempts,
		l.PreviousID, l.Redrives, encode.Text(l.Host, maxName), encode.Text(l.Build, maxName),
		encode.Text(d.ReplyTopic, maxName),
	}, nil
}

func readLetter(row scanner) (dlq.Letter, error) {
	var l dlq.Letter
	d := &l.Delivery
	var metadata whole
	var coordinates, chain []byte
	err := row.Scan(&l.LetterID, &l.State, &l.Class, &l.Consumer, &l.Handler, &d.Scope, &d.Key, &d.OrderKey, &l.Strict,
		&d.Fingerprint, &l.FirstPrint, &d.ID, &d.Topic, (*whole)(&d.Payload), &metadata, &coordinates, &d.Trace.Parent,
		&d.Trace.State, &l.Error, &l.ErrorPrint, &chain, &l.Stack, &l.Attempts, (*micros)(&l.FirstFailure),
		(*micros)(&l.LastFailure), &l.PreviousID, &l.Redrives, &l.Host, &l.Build, (*micros)(&l.CreatedAt), (*micros)(&l.ChangedAt),
		&d.ReplyTopic)
	if err != nil {
		return l, err
	}
	if len(metadata) > 0 { // a list leaves it out
		if d.Metadata, err = encode.ParseMetadata(metadata); err != nil {
			return l, err
		}
	}
	return l, errors.Join(json.Unmarshal(coordinates, &d.Coordinates), json.Unmarshal(chain, &l.Chain))
}

// Get implements dlq.Store.
func (s *letterStore) Get(ctx context.Context, id int64) (dlq.Letter, error) {
	l, err := readLetter(s.s.read.QueryRowContext(ctx, s.get, id))
	if errors.Is(err, sql.ErrNoRows) {
		return dlq.Letter{}, fmt.Errorf("letter %d: %w", id, dlq.ErrNotFound)
	}
	if err != nil {
		return dlq.Letter{}, fmt.Errorf("read letter %d: %w", id, err)
	}
	return l, nil
}

// Take implements dlq.Store.
func (s *letterStore) Take(ctx context.Context, t *txn.Txn, f dlq.Filter, to dlq.State, after int64, limit int) ([]dlq.Letter, error) {
	letters, err := collect(ctx, t, s.take, append(filterArgs(f), after, limit, string(to)), readLetter)
	if err != nil {
		return nil, fmt.Errorf("take letters: %w", err)
	}
	// RETURNING has no order.
	slices.SortFunc(letters, func(a, b dlq.Letter) int { return int(a.LetterID - b.LetterID) })
	return letters, nil
}

// filterArgs are the first ten arguments of the queries with a filter.
func filterArgs(f dlq.Filter) []any {
	state := f.State
	if state == "" {
		state = dlq.Open
	}
	if f.AnyState {
		state = ""
	}
	return []any{string(state), rowIDs(f.IDs), f.Consumer, f.Handler, f.Topic, string(f.Class), f.ErrorPrint, f.Key,
		timeArg(f.Since), timeArg(f.Until)}
}

func timeArg(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}
