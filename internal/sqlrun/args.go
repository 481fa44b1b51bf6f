package sqlrun

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
)

// The maximal sizes of text that only people read.
const (
	MaxError = 4 << 10
	MaxStack = 16 << 10
	MaxName  = 1 << 10
	maxTrace = 512
)

// maxIdentity keeps index entries below the limit of an index page.
const maxIdentity = 1 << 10

// Identity returns an error for a name of a message that does not fit a text column. It
// never cleans a name: two names could become one. The error does not show the name,
// which may contain anything.
func Identity(names ...string) error {
	for _, name := range names {
		if !encode.Clean(name) {
			return fmt.Errorf("a name of %d bytes is not valid UTF-8 or holds a NUL byte", len(name))
		}
		if len(name) > maxIdentity {
			return fmt.Errorf("a name of %d bytes is longer than %d", len(name), maxIdentity)
		}
	}
	return nil
}

// Trace returns a trace header in the form for rows.
func Trace(s string) string { return encode.Text(s, maxTrace) }

// Micros returns d in microseconds, rounded up so that a delay never becomes 0.
func Micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }

// Millis returns d for a setting in milliseconds, rounded up: 0 has another meaning.
func Millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// ScopesOf returns the prefix of a consumer's scopes; "" for all.
func ScopesOf(consumer string) string {
	if consumer == "" {
		return ""
	}
	return consumer + "/"
}

// ScopesEnd returns what comes after all scopes of a consumer, in the order of bytes; of all
// consumers for "".
func ScopesEnd(consumer string) string {
	if consumer == "" {
		return "\U0010FFFF" // no character comes later
	}
	return consumer + string('/'+1)
}

// Column returns one field of all rows.
func Column[R, T any](rows []R, field func(*R) T) []T {
	values := make([]T, len(rows))
	for i := range rows {
		values[i] = field(&rows[i])
	}
	return values
}

// Texts, Numbers and Named are columns of text, of integers, and of text for people.
func Texts[R any](rows []R, field func(*R) string) any { return Column(rows, field) }

func Numbers[R any](rows []R, field func(*R) int64) any { return Column(rows, field) }

func Named[R any](rows []R, field func(*R) string) any {
	return Column(rows, func(r *R) string { return encode.Text(field(r), MaxName) })
}

// IDs are the columns of ids: scope and key.
func IDs(ids []inbox.ID) []any {
	return []any{
		Texts(ids, func(id *inbox.ID) string { return id.Scope }),
		Texts(ids, func(id *inbox.ID) string { return id.Key }),
	}
}

// Attempts are the columns of failed runs, from scope to trace_state, but for their numbers.
func Attempts(attempts []inbox.Attempt) []any {
	type attempt = inbox.Attempt
	return []any{
		Texts(attempts, func(a *attempt) string { return a.Scope }),
		Texts(attempts, func(a *attempt) string { return a.Key }),
		Named(attempts, func(a *attempt) string { return a.Class }),
		Texts(attempts, func(a *attempt) string { return encode.Text(a.Error, MaxError) }),
		Named(attempts, func(a *attempt) string { return a.ErrorType }),
		Numbers(attempts, func(a *attempt) int64 { return a.Duration.Microseconds() }),
		Named(attempts, func(a *attempt) string { return a.Host }),
		Named(attempts, func(a *attempt) string { return a.Build }),
		Texts(attempts, func(a *attempt) string { return Trace(a.Trace.Parent) }),
		Texts(attempts, func(a *attempt) string { return Trace(a.Trace.State) }),
	}
}

// Recorded are the arguments of audit_record for r.
func Recorded(r audit.Row) []any {
	return []any{
		r.Kind, r.Subject, r.Action, encode.Text(r.By, MaxName), encode.Text(r.Reason, MaxError), r.RedriveID, encode.Text(r.Detail, MaxError),
	}
}
