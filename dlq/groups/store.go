package groups

import (
	"context"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// Store keeps the groups. Drivers implement it.
type Store interface {
	Reader
	Writer
	Counter
}

// Reader reads groups outside of transactions. List, Begun and Hours are exact: the counters with the
// changes that are not added up yet, in one statement.
type Reader interface {
	// List returns the groups of f: those with most open letters first.
	List(ctx context.Context, f Filter) ([]Group, error)
	// Begun returns the groups of a consumer that may have begun to fail: those that are new, regressed or
	// escalating, at most limit of them and the newest, and those with changes that are not added up yet.
	Begun(ctx context.Context, consumer string, limit int) ([]Group, error)
	// Hours returns how many letters of a group came in each hour of the last 35 days, by
	// build, the earliest hour first.
	Hours(ctx context.Context, id ID) ([]Hour, error)
	// Day returns the same for the last day, of each of ids.
	Day(ctx context.Context, ids []ID) ([][]Hour, error)
	// Builds returns the builds of a consumer that started within a year, the earliest first.
	Builds(ctx context.Context, consumer string) ([]Build, error)
	// Behind returns how long ago the oldest change was made that is not added up yet, and
	// whether there is one.
	Behind(ctx context.Context) (age time.Duration, waits bool, err error)
	// States returns what is open of a consumer, by the state of the group, as it was last added
	// up. States without open letters are not in it.
	States(ctx context.Context, consumer string) (map[State]Open, error)
	// Due reports whether time alone may change the state of a group.
	Due(ctx context.Context) (bool, error)
}

// Writer changes what people decide. Each call is a transaction of its own. Where the group
// does not exist, the error matches ErrNotFound.
type Writer interface {
	// Resolve makes a group resolved, by a person, in a build ("": time decides).
	Resolve(ctx context.Context, id ID, by, build string) error
	// Mute mutes a group, in place of an earlier mute: m.MutedBy says who, span for how long
	// and letters for how many more letters (0: no such end).
	Mute(ctx context.Context, id ID, m Mute, span time.Duration, letters int64) error
	// Unmute ends a mute, and reports whether there was one.
	Unmute(ctx context.Context, id ID, by string) (was bool, err error)
	// Note sets what is not nil of a group.
	Note(ctx context.Context, id ID, n Note) error
	// Recount counts all groups again from their letters. It blocks those who write letters
	// while it reads them.
	Recount(ctx context.Context) error
	// Prune removes hours after 35 days, groups 180 days after their newest letter if none is
	// open, and builds that have not run for a year.
	Prune(ctx context.Context) error
}

// Note is what a person notes on a group; nil leaves a part as it is, "" removes it.
type Note struct {
	// By is who notes it.
	By string
	// Assignee, Text and Link are the parts.
	Assignee, Text, Link *string
}

// Counter adds changes up. The caller ends the transaction that it passes to a method.
type Counter interface {
	// Lock makes t the one transaction that counts, until it ends, and returns the time. It
	// reports false if another one counts.
	Lock(ctx context.Context, t *txn.Txn) (now time.Time, locked bool, err error)
	// Take removes at most limit changes, the oldest first, and returns them.
	Take(ctx context.Context, t *txn.Txn, limit int) ([]Change, error)
	// Get returns those of ids that exist, and locks them.
	Get(ctx context.Context, t *txn.Txn, ids []ID) ([]Group, error)
	// Overdue returns at most limit groups whose state time alone may change, and locks them.
	Overdue(ctx context.Context, t *txn.Txn, limit int) ([]Group, error)
	// Week returns the hours of the last 7 days of ids.
	Week(ctx context.Context, t *txn.Txn, ids []ID) (map[ID][]Hour, error)
	// Order notes builds that a consumer has started, and returns all as Reader.Builds does.
	Order(ctx context.Context, t *txn.Txn, consumer string) ([]Build, error)
	// Unfinished returns those of ids of which a redriven message waits or runs.
	Unfinished(ctx context.Context, t *txn.Txn, ids []ID) (map[ID]bool, error)
	// Put writes groups, and adds hours to those that are there.
	Put(ctx context.Context, t *txn.Txn, groups []Group, hours map[ID][]Hour) error
}
