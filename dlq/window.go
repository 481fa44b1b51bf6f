package dlq

import (
	"context"
	"time"
)

// Span is a range of ids.
type Span struct {
	// Above and Below are its ends, which it does not hold; 0 means no bound at that end.
	Above, Below int64
}

// Window is a part of a Span that one statement looks at.
type Window struct {
	Span
	// Looked is how many letters it holds that an index finds for the filter: those of its
	// IDs, key, group or state. 0 means that there is no letter in the span.
	Looked int64
}

// Windows reads the letters of a filter in windows, so that no statement reads the whole
// table. Package dlq/search walks over them. Methods are outside of transactions; the error
// of a Filter.Where that cannot be read matches search.ErrWhere.
type Windows interface {
	// Window returns the window of the newest size letters in the span, or of the oldest.
	Window(ctx context.Context, f Filter, within Span, size int, oldest bool) (Window, error)
	// ListIn returns at most limit letters of f in a window, newest first, as Reader.List.
	ListIn(ctx context.Context, f Filter, w Span, limit int) ([]Letter, error)
	// IDsIn returns the ids of the letters of f in a window, lowest first.
	IDsIn(ctx context.Context, f Filter, w Span) ([]int64, error)
	// GroupsIn returns the groups of the letters of f in a window.
	GroupsIn(ctx context.Context, f Filter, w Span) ([]Group, error)
	// Created returns the id of the letter with the highest id up to id, and when it was
	// written; 0 if there is none.
	Created(ctx context.Context, id int64) (int64, time.Time, error)
}
