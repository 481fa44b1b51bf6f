package dlq

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/encode"
)

// RedriveRequest says which letters to send again, and who does it and why.
type RedriveRequest struct {
	// Filter chooses among the open letters; State and AnyState stay zero. One that
	// narrows nothing needs All.
	Filter Filter
	// All allows a Filter that chooses every open letter.
	All bool
	// Limit bounds how many are redriven, oldest first; 0 means no limit.
	Limit int
	// By and Reason go into the audit trail, at most 1 KiB of each. By is required.
	By     string
	Reason string
	// NewKey is the key under which one conflict letter is handled; Filter.IDs then
	// holds that letter and nothing else. Other letters keep their key.
	NewKey string
	// Progress is called after each commit with the number redriven so far, from
	// the goroutine that called Redrive; nil means not at all.
	Progress func(done int)
}

// DiscardRequest says which letters to give up, and who does it and why.
type DiscardRequest struct {
	// Filter, All, Limit and Progress are as in RedriveRequest.
	Filter Filter
	All    bool
	Limit  int
	// By and Reason go into the audit trail, at most 1 KiB of each. Both are required.
	By       string
	Reason   string
	Progress func(done int)
}

// Skip is a letter that was left as it was.
type Skip struct {
	// LetterID is the letter, and Why one sentence.
	LetterID int64  `json:"letter_id"`
	Why      string `json:"why"`
}

// maxSkips bounds how many skipped letters a result names.
const maxSkips = 100

// RedriveResult says what a redrive did.
type RedriveResult struct {
	// Redriven counts the letters whose messages are in the backlog again.
	Redriven int
	// Skipped counts chosen letters that stay as they were; Skips names the first
	// hundred of them.
	Skipped int
	Skips   []Skip
}

// DiscardResult says what a discard did.
type DiscardResult struct {
	// Discarded counts the letters that were given up.
	Discarded int
	// Skipped and Skips are as in RedriveResult.
	Skipped int
	Skips   []Skip
}

// PartialError is the error of a redrive or a discard that ended before its end.
// What was done is committed; the same request goes on with the rest.
type PartialError struct {
	// Done letters are redriven or discarded.
	Done int
	// Unknown letters were in a commit whose outcome could not be read again.
	Unknown int
	// Err is why it ended: the context's error where that was cancelled.
	Err error
}

// Error says how far it came and why it ended.
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

// Limits of what goes into a row, in bytes.
const (
	maxAudit = 1 << 10
	maxKey   = 512
)

// Narrows reports whether f chooses fewer than all letters of its state.
func (f Filter) Narrows() bool {
	return f.IDs != nil || f.Consumer != "" || f.Handler != "" || f.Topic != "" || f.Class != "" ||
		f.ErrorPrint != "" || f.Key != "" || !f.Since.IsZero() || !f.Until.IsZero()
}

// check refuses what would do something else than was meant.
func (f Filter) check(all bool, limit int) error {
	switch {
	case f.State != "" && f.State != Open || f.AnyState:
		return fmt.Errorf("%w: only open letters can be decided on", ErrInvalid)
	case f.IDs != nil && len(f.IDs) == 0:
		return fmt.Errorf("%w: the list of ids is empty", ErrInvalid)
	case !f.Narrows() && !all:
		return fmt.Errorf("%w: the filter chooses every open letter; say All if that is meant", ErrInvalid)
	case limit < 0:
		return fmt.Errorf("%w: Limit is negative (%d)", ErrInvalid, limit)
	}
	return nil
}

// parts divides a long list of ids, so that no statement grows with it.
func (f Filter) parts() []Filter {
	if f.IDs == nil {
		return []Filter{f}
	}
	ids := slices.Compact(slices.Sorted(slices.Values(f.IDs)))
	var parts []Filter
	for chunk := range slices.Chunk(ids, maxBatch) {
		part := f
		part.IDs = chunk
		parts = append(parts, part)
	}
	return parts
}

func checkAudit(by, reason string, needReason bool) error {
	if strings.TrimSpace(by) == "" {
		return fmt.Errorf("%w: By is empty", ErrInvalid)
	}
	if needReason && strings.TrimSpace(reason) == "" {
		return fmt.Errorf("%w: Reason is empty", ErrInvalid)
	}
	return nil
}

func (r RedriveRequest) check() error {
	if err := r.Filter.check(r.All, r.Limit); err != nil {
		return err
	}
	if r.NewKey == "" {
		return checkAudit(r.By, r.Reason, false)
	}
	if len(r.Filter.IDs) != 1 {
		return fmt.Errorf("%w: NewKey is for exactly one letter, named by its id", ErrInvalid)
	}
	if len(r.NewKey) > maxKey || !encode.Clean(r.NewKey) {
		return fmt.Errorf("%w: NewKey must be valid UTF-8 without NUL and at most %d bytes", ErrInvalid, maxKey)
	}
	return checkAudit(r.By, r.Reason, false)
}

func (r DiscardRequest) check() error {
	if err := r.Filter.check(r.All, r.Limit); err != nil {
		return err
	}
	return checkAudit(r.By, r.Reason, true)
}
