package redrive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
)

// Request says which letters to redrive or discard, who decides and why.
type Request struct {
	// Filter chooses among the open letters; State and AnyState stay zero. A filter
	// without any other restriction needs All.
	Filter dlq.Filter
	// All allows a Filter that chooses every open letter.
	All bool
	// Limit bounds how many are decided on, oldest first; 0 means no limit.
	Limit int
	// By and Reason go into the audit trail, at most 1 KiB of each. By is required, and
	// Reason for Discard.
	By     string
	Reason string
	// NewKey is the key under which Redrive runs one letter that is a conflict or has a
	// stand-in key; Filter.IDs then contains only that letter. It holds for all deliveries
	// that the letter counts. Other letters keep their key.
	NewKey string
	// OpenCalls lets Discard end letters with a call whose outcome is unknown.
	OpenCalls bool
	// Progress is called after each commit with the number of letters done so far, in the
	// goroutine that called Redrive or Discard; nil means no calls.
	Progress func(done int)
}

// Skip is a letter that was not changed.
type Skip struct {
	// LetterID is the letter, and Why one sentence.
	LetterID int64  `json:"letter_id"`
	Why      string `json:"why"`
	// Key is that of the message if one of its steps needs a person, and "" otherwise.
	Key string `json:"key,omitempty"`
}

// maxSkips bounds how many skipped letters a result names.
const maxSkips = 100

// Result says what was done.
type Result struct {
	// Done counts the letters that were redriven or discarded.
	Done int
	// Skipped counts chosen letters that were not changed; Skips names the first hundred
	// of them.
	Skipped int
	Skips   []Skip
}

// PartialError is the error of a request that did not finish. The finished part is
// committed; the same request continues with the rest.
type PartialError struct {
	// Done counts the letters that are redriven or discarded.
	Done int
	// Unknown counts letters in a commit whose outcome could not be read.
	Unknown int
	// Err is the cause: the context's error if it was cancelled.
	Err error
}

// Error says how many letters are done, and the cause.
func (e *PartialError) Error() string {
	letters := "letters"
	if e.Done == 1 {
		letters = "letter"
	}
	if e.Unknown > 0 {
		return fmt.Sprintf("ended after %d %s, with the outcome of %d more unknown: %v", e.Done, letters, e.Unknown, e.Err)
	}
	return fmt.Sprintf("ended after %d %s: %v", e.Done, letters, e.Err)
}

// Unwrap returns Err.
func (e *PartialError) Unwrap() error { return e.Err }

// check rejects a request that probably does not mean what it says.
func (r Request) check(to dlq.State) error {
	f := r.Filter
	why := ""
	switch {
	case f.State != "" && f.State != dlq.Open || f.AnyState:
		why = "only open letters can be decided on"
	case f.IDs != nil && len(f.IDs) == 0:
		why = "the list of ids is empty"
	case f.IDs != nil && f.InGo():
		why = "ids, or a condition on headers or payload: only one of them"
	case !f.Narrows() && !r.All:
		why = "the filter chooses every open letter; say All if that is meant"
	case r.Limit < 0:
		why = fmt.Sprintf("Limit is negative (%d)", r.Limit)
	case r.NewKey != "" && (to != dlq.Redriven || len(f.IDs) != 1):
		why = "NewKey is for a redrive of exactly one letter, named by its id"
	case len(r.NewKey) > inbox.MaxKeyBytes || !encode.Clean(r.NewKey):
		why = fmt.Sprintf("NewKey must be valid UTF-8 without NUL and at most %d bytes", inbox.MaxKeyBytes)
	case inbox.IsStandIn(r.NewKey):
		why = "NewKey is a stand-in key"
	case strings.TrimSpace(r.By) == "":
		why = "By is empty"
	case to == dlq.Discarded && strings.TrimSpace(r.Reason) == "":
		why = "Reason is empty"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrInvalid, why)
}

// parts splits a long list of ids, so that no statement grows with it.
func parts(f dlq.Filter) []dlq.Filter {
	if f.IDs == nil {
		return []dlq.Filter{f}
	}
	ids := slices.Compact(slices.Sorted(slices.Values(f.IDs)))
	var parts []dlq.Filter
	for chunk := range slices.Chunk(ids, maxBatch) {
		part := f
		part.IDs = chunk
		parts = append(parts, part)
	}
	return parts
}
