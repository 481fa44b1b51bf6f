package intervene

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// The kinds of requests. Those for steps may lead to another call of a system: they are an admin's.
const (
	RetryKind   = "retry"
	CancelKind  = "cancel-message"
	ResolveKind = "resolve-step"
	SendKind    = "send-signal"
	EraseKind   = "erase-steps"
)

// MaxKeys is how many keys a request may have.
const MaxKeys = 1000

// Args say which messages of the consumer. Cancel needs Keys, of which Handler chooses; Retry
// needs one of the fields.
type Args struct {
	Keys             []string `json:"keys,omitempty"`
	Handler          string   `json:"handler,omitempty"`
	ErrorFingerprint string   `json:"error_fingerprint,omitempty"`
}

// Answer is what became of the messages.
type Answer struct {
	// Done is how many are due now, or cancelled. Letters are those of the cancelled ones.
	Done    int     `json:"done"`
	Letters []int64 `json:"letter_ids,omitempty"`
	// More says that there may be more to retry: MaxRetry were retried.
	More bool `json:"more,omitempty"`
	// Skips say why messages stay as they are.
	Skips []Skip `json:"skips,omitempty"`
}

// Skip is a message that stays as it is.
type Skip struct {
	Key string `json:"key"`
	Why string `json:"why"`
}

// Admin does what is asked. It is safe for concurrent use.
type Admin struct {
	Store store.Store
	// Instance is this process. Resolve, Send and Erase do not need it.
	Instance instance.Instance
}

// Actions do what people ask, by the kind of the request.
func (d *Admin) Actions() map[string]instance.Action {
	return map[string]instance.Action{
		RetryKind: instance.Does(d.Retry), CancelKind: instance.Does(d.Cancel),
		ResolveKind: instance.Does(d.Resolve), SendKind: instance.Does(d.Send), EraseKind: instance.Does(d.Erase),
	}
}

// lockTime bounds the wait for a message that is being handled. It is shorter than PostgreSQL's
// deadlock_timeout, so that a person never makes a worker's transaction fail.
const lockTime = 500 * time.Millisecond

// Retry makes messages due now: requests of kind RetryKind. The error matches
// instance.ErrRefused if none of them waits for its time.
func (d *Admin) Retry(ctx context.Context, q instance.Request, args Args) (a Answer, err error) {
	if err := args.check(); err != nil {
		return a, err
	}
	if len(args.Keys) == 0 && args.Handler == "" && args.ErrorFingerprint == "" {
		return a, instance.Refuse("which messages? give keys, a group or a handler")
	}
	moves := d.Store.Operations().Moves
	f := backlog.Filter{Consumer: q.Consumer, Handler: args.Handler, ErrorFingerprint: args.ErrorFingerprint}
	before, err := moves.Find(ctx, q.Consumer, args.Keys)
	if err != nil {
		return a, err
	}
	n, err := moves.Retry(ctx, f, args.Keys)
	if err != nil {
		return a, err
	}
	a = Answer{Done: n, More: n == backlog.MaxRetry, Skips: missing(args.Keys, before)}
	for _, row := range before {
		if row.Wait.Status != "delayed" {
			a.Skips = append(a.Skips, Skip{row.Delivery.Key, "it is " + row.Wait.Status})
		}
	}
	d.Store.Backlog().Signals.Wake(q.Consumer)
	if n == 0 {
		return a, instance.Refuse("no message waits for its time: %s", first(a.Skips, "none of them is delayed, or each is behind another one of its order key"))
	}
	return a, nil
}

// Cancel makes messages dead letters of class cancelled: requests of kind CancelKind. The error
// matches instance.ErrRefused if none of them was cancelled.
func (d *Admin) Cancel(ctx context.Context, q instance.Request, args Args) (a Answer, err error) {
	if err := args.check(); err != nil {
		return a, err
	}
	if len(args.Keys) == 0 {
		return a, instance.Refuse("which messages? give their keys")
	}
	rows, err := d.Store.Operations().Moves.Find(ctx, q.Consumer, args.Keys)
	if err != nil {
		return a, err
	}
	handlers := make(map[string][]string)
	for _, row := range rows {
		if args.Handler == "" || row.Handler == args.Handler {
			handlers[row.Delivery.Key] = append(handlers[row.Delivery.Key], row.Handler)
		}
	}
	a.Skips = missing(args.Keys, rows)
	for _, row := range rows {
		of := handlers[row.Delivery.Key]
		if args.Handler != "" && row.Handler != args.Handler {
			continue
		}
		if len(of) > 1 {
			a.Skips = append(a.Skips, Skip{row.Delivery.Key, "it waits for the handlers " + strings.Join(of, " and ") + ": choose one"})
			continue
		}
		letter, err := d.cancel(ctx, q, row.RowID)
		switch {
		case errors.Is(err, errRuns):
			a.Skips = append(a.Skips, Skip{row.Delivery.Key, err.Error()})
		case err != nil:
			return a, fmt.Errorf("cancel %q, after %d others: %w", row.Delivery.Key, a.Done, err)
		default:
			a.Done, a.Letters = a.Done+1, append(a.Letters, letter)
		}
	}
	if a.Done == 0 {
		return a, instance.Refuse("%s", first(a.Skips, "no such message waits"))
	}
	return a, nil
}

// errRuns matches the error of a message that is being handled, or was.
var errRuns = errors.New("it is being handled at the moment, or has just been")

// cancel cancels the message of a row, and returns its letter.
func (d *Admin) cancel(ctx context.Context, q instance.Request, id int64) (letter int64, err error) {
	row, err := d.Store.Operations().Waiting.Get(ctx, id)
	if errors.Is(err, backlog.ErrNotFound) {
		return 0, errRuns
	} else if err != nil {
		return 0, err
	}
	err = store.Transact(ctx, d.Store, func(t *txn.Txn) error {
		letter, err = d.move(ctx, t, q, &row)
		return err
	})
	if txn.Classify(err).Conflict() {
		return 0, errRuns
	}
	return letter, err
}

// move moves a message from the backlog to the dead letters.
func (d *Admin) move(ctx context.Context, t *txn.Txn, q instance.Request, row *backlog.Row) (int64, error) {
	if err := d.Store.Operations().Limits.Set(ctx, t, lockTime, txn.Limits{}); err != nil {
		return 0, err
	}
	id := inbox.ID{Scope: row.Delivery.Scope, Key: row.Delivery.Key}
	moved, err := d.Store.Inbox().Transition(ctx, t, []inbox.ID{id}, inbox.Waiting, inbox.Dead)
	if err != nil {
		return 0, err
	}
	if len(moved) == 0 {
		return 0, errRuns
	}
	if taken, err := d.Store.Operations().Moves.Take(ctx, t, row.RowID); err != nil {
		return 0, err
	} else if !taken {
		return 0, errRuns
	}
	attempts, err := d.Store.Inbox().Attempts(ctx, id)
	if err != nil {
		return 0, err
	}
	why := dlq.Describe(errors.New("a person cancelled the message"), nil, nil)
	inserted, err := d.Store.Letters().Insert(ctx, t, []dlq.Letter{{ // dlq.Write would alert
		Class: dlq.Cancelled, Consumer: row.Consumer, Handler: row.Handler, Delivery: row.Delivery, Strict: row.Strict,
		Error: why.Error, Chain: why.Chain, ErrorFingerprint: why.Fingerprint, Attempts: len(attempts), PreviousID: row.LetterID, Redrives: row.Redrives,
		Host: d.Instance.Host, Build: d.Instance.Build, Environment: d.Instance.Environment,
	}})
	if err != nil {
		return 0, err
	}
	letter := inserted[0].LetterID
	if err := d.Store.Letters().Record(ctx, t, []dlq.Audit{{LetterID: letter, Action: "cancel", By: q.By, Reason: q.Reason}}); err != nil {
		return 0, err
	}
	key, strict := row.OrderKey()
	if !strict {
		return letter, nil
	}
	return letter, d.Store.Backlog().Order.Release(ctx, t, []backlog.OrderKey{key}, releaseLimit)
}

// releaseLimit is how many rows behind a cancelled one become ready at once; as those end, they
// release more.
const releaseLimit = 64

func (a *Args) check() error {
	if len(a.Keys) > MaxKeys {
		return instance.Refuse("%d keys are more than %d", len(a.Keys), MaxKeys)
	}
	return nil
}

// missing returns a Skip for each key that has no row.
func missing(keys []string, rows []backlog.Row) (skips []Skip) {
	found := make(map[string]bool)
	for _, row := range rows {
		found[row.Delivery.Key] = true
	}
	for _, key := range keys {
		if !found[key] {
			skips = append(skips, Skip{key, "it does not wait"})
		}
	}
	return skips
}

func first(skips []Skip, otherwise string) string {
	if len(skips) == 0 {
		return otherwise
	}
	return fmt.Sprintf("%s: %s", skips[0].Key, skips[0].Why)
}
