package alerts

import (
	"context"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// Appender is all that work needs of a Store.
type Appender interface {
	// Append writes alerts of Stored kinds in the order given, of the namespaces that
	// their Consumer names: "" for the relay. Text and the times are not kept. No
	// alerts is no statement.
	Append(ctx context.Context, t *txn.Txn, list []Alert) error
}

// Store keeps alerts until they have been passed on. Drivers implement it. Work
// transactions only Append; one reader at a time counts them into groups and passes
// those on: it holds the namespace by a lease, so that no transaction is open while
// it calls a hook.
type Store interface {
	Appender
	// Waiting reports, without writing, whether there is something for owner to do: new
	// rows, or groups that are due, and no lease of another.
	Waiting(ctx context.Context, namespace, owner string) (bool, error)
	// Take takes the lease, or lengthens it; counts rows into their groups and removes
	// them; and returns groups that are due.
	Take(ctx context.Context, t *txn.Txn, r TakeRequest) (Taken, error)
	// Settle lengthens the lease and records what became of groups that were taken. ok
	// is false where the lease is another's by now: then nothing was recorded.
	Settle(ctx context.Context, t *txn.Txn, s Settlement) (ok bool, err error)
	// Release gives the lease back, if it is owner's.
	Release(ctx context.Context, t *txn.Txn, namespace, owner string) error
}

// TakeRequest says what to take, and for whom.
type TakeRequest struct {
	// Namespace is a consumer, or "" for the relay.
	Namespace string
	// Owner names the reader, which holds the lease.
	Owner string
	// Lease is how long nobody else takes anything of the namespace.
	Lease time.Duration
	// Limit is how many groups are returned at most.
	Limit int
	// Rows is how many rows are counted at most.
	Rows int
	// Expire removes what nobody passed on for that long; Forget what is known of
	// groups that have been silent for that long, which makes their next one a first.
	Expire time.Duration
	Forget time.Duration
}

// Taken is what Take found.
type Taken struct {
	// OK is false where another holds the lease; nothing was done then.
	OK bool
	// More says that there may be more rows than were counted.
	More bool
	// Due are the groups to pass on, Limit of them at most, those first that are
	// due for longest.
	Due []Due
	// Groups is how many groups are due in all, Count how many alerts they hold, Since
	// when the first of those happened, and At the newest.
	Groups int64
	Count  int64
	Since  time.Time
	At     time.Time
	// Tried is how many groups were tried within the last minute.
	Tried int
	// Until is the moment of the look, for a Settlement of all that was due.
	Until time.Time
	// Expired is how many alerts were removed without having been passed on.
	Expired int64
}

// Due is a group to pass on.
type Due struct {
	// Alert is the newest of the group with the Count of all, without Text.
	Alert
	// Grp is what names the group: Alert.Group.
	Grp string
	// First says that none of the group was passed on before.
	First bool
	// Failures is how often it was tried in vain since the last success.
	Failures int
}

// Settlement records what became of a group, or of the rest.
type Settlement struct {
	// Namespace is a consumer, or "" for the relay.
	Namespace string
	// Owner names the reader, which must hold the lease still.
	Owner string
	// Lease is for how long from now it holds it then.
	Lease time.Duration
	// Grp names the group; "" means every group that was due at Until and still is.
	Grp   string
	Until time.Time
	// Passed says that it was passed on, else that it was tried in vain. Wait is how
	// long until the next one of the group.
	Passed bool
	Wait   time.Duration
}
