package alerts

import (
	"context"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// Appender is the part of a Store that work transactions need.
type Appender interface {
	// Append writes alerts of Stored kinds in the order given. Their Consumer is the
	// namespace: "" for the relay. Text and the times are not kept. For no alerts it runs
	// no statement.
	Append(ctx context.Context, t *txn.Txn, list []Alert) error
}

// Store keeps alerts until they have been sent. Drivers implement it. Work transactions
// only Append. One reader at a time counts them into groups and sends those: it has the
// namespace by a lease, so that no transaction is open while it calls a hook.
type Store interface {
	Appender
	// Waiting reports, without writing, whether owner has work to do: there are new rows,
	// or due groups, and no lease of another reader.
	Waiting(ctx context.Context, namespace, owner string) (bool, error)
	// Take takes the lease, or extends it; counts rows into their groups and removes
	// them; and returns groups that are due.
	Take(ctx context.Context, t *txn.Txn, r TakeRequest) (Taken, error)
	// Settle extends the lease and records the result for groups that were taken. ok is
	// false if another reader has the lease by now: then nothing was recorded.
	Settle(ctx context.Context, t *txn.Txn, s Settlement) (ok bool, err error)
	// Release gives the lease back, if owner has it.
	Release(ctx context.Context, t *txn.Txn, namespace, owner string) error
}

// TakeRequest says what to take, and for whom.
type TakeRequest struct {
	// Namespace is a consumer, or "" for the relay.
	Namespace string
	// Owner names the reader that takes the lease.
	Owner string
	// Lease is how long other readers cannot take alerts of the namespace.
	Lease time.Duration
	// Limit is how many groups are returned at most.
	Limit int
	// Rows is how many rows are counted at most.
	Rows int
	// Expire removes alerts that could not be sent for that long. Forget removes groups
	// that have been silent for that long; their next alert counts as the first.
	Expire time.Duration
	Forget time.Duration
}

// Taken is the result of Take.
type Taken struct {
	// OK is false if another reader has the lease; then nothing was done.
	OK bool
	// More says that there may be more rows than were counted.
	More bool
	// Due are the groups to send, at most Limit, those first that have been due longest.
	Due []Due
	// Groups is how many groups are due in all, Count how many alerts they have, Since
	// when the first of those happened, and At the newest.
	Groups int64
	Count  int64
	Since  time.Time
	At     time.Time
	// Tried is how many groups were tried within the last minute.
	Tried int
	// Until is the time of the Take, for a Settlement of all groups that were due.
	Until time.Time
	// Expired is how many alerts were removed without having been sent.
	Expired int64
}

// Due is a group to send.
type Due struct {
	// Alert is the newest of the group with the Count of all, without Text.
	Alert
	// Grp is the group's name: Alert.Group.
	Grp string
	// First says that no alert of the group was sent before.
	First bool
	// Failures is how many tries have failed since the last success.
	Failures int
}

// Settlement records the result for a group, or for the rest.
type Settlement struct {
	// Namespace is a consumer, or "" for the relay.
	Namespace string
	// Owner names the reader, which must still have the lease.
	Owner string
	// Lease is how long from now the lease is extended.
	Lease time.Duration
	// Grp names the group; "" means every group that was due at Until and still is.
	Grp   string
	Until time.Time
	// Passed says that it was sent; otherwise the try failed. Wait is how long until the
	// next alert of the group.
	Passed bool
	Wait   time.Duration
}
