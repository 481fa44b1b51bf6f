package ledger

import (
	"context"
	"time"

	"github.com/headrace/headrace/backlog"
)

// Memo names a result that messages share: that of the steps of one name and system whose
// Input is the same.
type Memo struct {
	// System and Name are those of the step, without its item, and Input is the hash of its
	// Input.
	System, Name, Input string
	// Token names who asks: it is random.
	Token string
}

// MemoState says what may be done about a Memo.
type MemoState int

// The states.
const (
	// MemoBusy: another makes the call.
	MemoBusy MemoState = iota
	// MemoTaken: the caller makes the call.
	MemoTaken
	// MemoKnown: there is a result.
	MemoKnown
)

// Memos keeps shared results. Drivers implement it. Each change is a commit of its own, and
// may be made again.
type Memos interface {
	// Take gives the call to m.Token for the time of term, unless there is a result or
	// another has it; by repeating it the term begins anew. left is how long another has it.
	Take(ctx context.Context, m Memo, term time.Duration) (s MemoState, left time.Duration, err error)
	// Adopt records the result, if there is one and l is still held, as that of the step r,
	// which is new, pending or failed, and reports whether it did.
	Adopt(ctx context.Context, m Memo, l backlog.Lease, r Row) (bool, error)
	// Put records a result and keeps it for keep, also without the token. If one is recorded
	// already, that one stays. Put returns the recorded result.
	Put(ctx context.Context, m Memo, result []byte, keep time.Duration) (recorded []byte, err error)
	// Release ends what Take gave to m.Token.
	Release(ctx context.Context, m Memo) error
}
