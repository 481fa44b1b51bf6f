package sqlsearch

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Windows implements dlq.Windows.
type Windows struct {
	sqlrun.Table[struct {
		List, Choose, Groups, Window, WindowOldest, Created string
		// For a login that may not read what messages say; a file has no such login.
		ListBare   string `sql:"optional"`
		GroupsBare string `sql:"optional"`
	}]
}

// filter returns the first 15 arguments of the statements with a filter, and what decides in
// Go on the letters that they find; nil if nothing does.
func (s *Windows) filter(f dlq.Filter) ([]any, *search.Matcher, error) {
	match, err := search.Match(f)
	if err != nil {
		return nil, nil, err
	}
	state := string(f.State)
	switch {
	case f.AnyState:
		state = ""
	case state == "":
		state = string(dlq.Open)
	}
	args := append([]any{state}, s.Many(append([]int64{}, f.IDs...))...)
	args = append(args, plain(f.Consumer), plain(f.Handler), plain(f.Topic), plain(string(f.Class)), plain(f.ErrorFingerprint),
		plain(f.Key), s.Time(f.Since), s.Time(f.Until), plain(f.Build), plain(f.Host), plain(f.Text))
	if match == nil {
		return append(args, nil, nil), nil, nil
	}
	return append(args, literal(headerBytes(f)), literal(match.Literal())), match, nil
}

// Args returns the arguments of a statement with a filter, for what statements decide alone.
func (s *Windows) Args(f dlq.Filter) ([]any, error) {
	args, _, err := s.filter(f)
	return args, err
}

// WindowArgs returns the arguments of a statement with a filter and a window, for what statements
// decide alone.
func (s *Windows) WindowArgs(f dlq.Filter, w dlq.Span) ([]any, error) {
	args, err := s.Args(f)
	name, _ := source(f)
	return append(append(args, name), ends(w)...), err
}

// plain returns a text that may be an argument. No column contains text with a NUL byte or in
// another encoding; as an argument it would be an error.
func plain(s string) string { return encode.Text(s, 0) }

// literal returns bytes that a column must hold; NULL for none.
func literal(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// headerBytes returns the value of a header of f as it is in the column metadata.
func headerBytes(f dlq.Filter) []byte {
	for _, value := range f.Headers {
		var form map[string]json.RawMessage
		if json.Unmarshal(encode.Metadata(map[string]string{"h": value}), &form) == nil {
			return bytes.TrimSpace(form["h"])
		}
	}
	return nil
}

// The sources of a window: an index has its letters in the order of their ids.
const (
	all   = "all"
	open  = "open"
	group = "group"
	key   = "key"
	ids   = "ids"
)

// source returns the smallest source that has the letters of f, and what names it.
func source(f dlq.Filter) (name, value string) {
	isOpen := !f.AnyState && (f.State == "" || f.State == dlq.Open)
	switch {
	case len(f.IDs) > 0:
		return ids, ""
	case f.Key != "":
		return key, plain(f.Key)
	case isOpen && f.ErrorFingerprint != "":
		return group, plain(f.ErrorFingerprint)
	case isOpen:
		return open, ""
	}
	return all, ""
}

// ends are the arguments for a span.
func ends(s dlq.Span) []any {
	if s.Below == 0 {
		s.Below = math.MaxInt64
	}
	return []any{s.Above, s.Below}
}

func (s *Windows) Window(ctx context.Context, f dlq.Filter, within dlq.Span, size int, oldest bool) (w dlq.Window, err error) {
	defer sqlrun.Wrap("find the next dead letters", &err)
	query := s.SQL.Window
	if oldest {
		query = s.SQL.WindowOldest
	}
	name, value := source(f)
	args := append(append([]any{name}, s.Many(append([]int64{}, f.IDs...))...), value)
	var end int64
	if err := s.Reader().QueryRowContext(ctx, query, append(append(args, ends(within)...), size)...).Scan(&end, &w.Looked); err != nil {
		return w, err
	}
	w.Span = within
	switch {
	case w.Looked < int64(size): // the rest
	case oldest:
		w.Below = end + 1
	default:
		w.Above = end - 1
	}
	return w, nil
}

func (s *Windows) ListIn(ctx context.Context, f dlq.Filter, w dlq.Span, limit int) ([]dlq.Letter, error) {
	if f.InGo() {
		ids, err := s.IDsIn(ctx, f, w)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		f = dlq.Filter{AnyState: true, IDs: ids[max(0, len(ids)-limit):]}
	}
	args, _, err := s.filter(f)
	if err != nil {
		return nil, err
	}
	name, _ := source(f)
	args = append(append(append(args, name), ends(w)...), limit)
	return collect(ctx, s.Reader(), f, [2]string{s.SQL.List, s.SQL.ListBare}, args, LetterFields)
}

// collect runs the first query or, where the login may not read all that it names, the second.
func collect[T any](ctx context.Context, q sqlrun.Reader, f dlq.Filter, queries [2]string, args []any, into func(*T) []any) ([]T, error) {
	rows, err := sqlrun.Collect(ctx, q, queries[0], args, into)
	if txn.NotPermitted(err) && queries[1] != "" && !f.InGo() && f.Text == "" {
		return sqlrun.Collect(ctx, q, queries[1], args, into)
	}
	return rows, err
}

func (s *Windows) IDsIn(ctx context.Context, f dlq.Filter, w dlq.Span) (ids []int64, err error) {
	err = s.choose(ctx, f, w, func(g dlq.Group) { ids = append(ids, g.SampleID) })
	slices.Sort(ids)
	return ids, err
}

// choose calls visit with each letter of f in a window, as a group of one without its error, in no
// order. A window may have many thousand, so nothing is kept of them here.
func (s *Windows) choose(ctx context.Context, f dlq.Filter, w dlq.Span, visit func(dlq.Group)) (err error) {
	args, match, err := s.filter(f)
	if err != nil {
		return err
	}
	name, _ := source(f)
	rows, err := s.Reader().QueryContext(ctx, s.SQL.Choose, append(append(append(args, name), ends(w)...), match != nil)...)
	if err != nil {
		return err
	}
	defer func() {
		if err2 := rows.Close(); err == nil {
			err = err2
		}
	}()
	for rows.Next() {
		g := dlq.Group{Count: 1}
		var payload, metadata any // which are not copied
		if err := rows.Scan(&g.SampleID, &g.ErrorFingerprint, &g.Consumer, &g.Handler, &g.Class, (*sqlrun.Instant)(&g.First), &payload, &metadata); err != nil {
			return err
		}
		g.Last = g.First
		holds, err := holds(match, payload, metadata)
		if err != nil {
			return err
		}
		if holds {
			visit(g)
		}
	}
	return rows.Err()
}

// holds decides on a letter by these columns.
func holds(match *search.Matcher, payload, metadata any) (bool, error) {
	if match == nil {
		return true, nil
	}
	body, err := sqlrun.Bytes(payload)
	if err != nil {
		return false, err
	}
	var headers sqlrun.Headers
	if err := headers.Scan(metadata); err != nil {
		return false, err
	}
	return match.Holds(body, headers), nil
}

// mergeAt is how many letters GroupsIn holds before it counts them as groups.
const mergeAt = 500

func (s *Windows) GroupsIn(ctx context.Context, f dlq.Filter, w dlq.Span) ([]dlq.Group, error) {
	if !f.InGo() {
		args, _, err := s.filter(f)
		if err != nil {
			return nil, err
		}
		name, _ := source(f)
		return collect(ctx, s.Reader(), f, [2]string{s.SQL.Groups, s.SQL.GroupsBare}, append(append(args, name), ends(w)...), GroupFields)
	}
	var groups, chosen []dlq.Group
	err := s.choose(ctx, f, w, func(g dlq.Group) {
		if chosen = append(chosen, g); len(chosen) == mergeAt {
			groups, chosen = search.Merge(groups, chosen), chosen[:0]
		}
	})
	if groups = search.Merge(groups, chosen); err != nil || len(groups) == 0 {
		return nil, err
	}
	newest := dlq.Filter{AnyState: true}
	for _, g := range groups {
		newest.IDs = append(newest.IDs, g.SampleID)
	}
	letters, err := s.ListIn(ctx, newest, dlq.Span{}, len(newest.IDs))
	for _, l := range letters {
		if i := slices.IndexFunc(groups, func(g dlq.Group) bool { return g.SampleID == l.LetterID }); i >= 0 {
			groups[i].Sample = l.Error
		}
	}
	return groups, err
}

func (s *Windows) Created(ctx context.Context, id int64) (at int64, created time.Time, err error) {
	defer sqlrun.Wrap("look when a dead letter was written", &err)
	type row struct {
		id int64
		at sqlrun.Instant
	}
	rows, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Created, []any{id}, func(r *row) []any { return []any{&r.id, &r.at} })
	if err != nil || len(rows) == 0 {
		return 0, time.Time{}, err
	}
	return rows[0].id, time.Time(rows[0].at), nil
}
