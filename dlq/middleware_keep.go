package dlq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/routed"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// maxWrites is how often a dead letter is written again after a deadlock or a COMMIT
// without an answer.
const maxWrites = 3

// given is a message that is given up, and why.
type given struct {
	d        headrace.Delivery
	err      error
	class    Class
	failures []retry.Failure
	attempts int // all of them, also where not each is among failures
}

// keep writes the dead letter of m. The error is a *headrace.HeldError.
func (w *middleware) keep(ctx context.Context, m *message.Message, err error, took time.Duration) error {
	g, err := w.judge(m, err, took)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := w.write(ctx, g)
		if err == nil {
			return nil
		}
		c := txn.Classify(err)
		again := c == txn.Serialization || c == txn.LockTimeout || errors.Is(err, txn.ErrCommitUnknown)
		if !again || try == maxWrites {
			return &headrace.HeldError{Err: fmt.Errorf("dlq: %w", err)}
		}
	}
}

// judge says which message it is and why it is given up.
func (w *middleware) judge(m *message.Message, err error, took time.Duration) (given, error) {
	d, bad := w.who.Delivery(m)
	if headrace.IsHeld(bad) {
		return given{}, bad
	}
	g := given{d: d, err: err, class: Exhausted}
	var gone *retry.ExhaustedError
	var conflict *inbox.ConflictError
	var key *inbox.KeyError
	switch {
	case errors.As(err, &conflict):
		g.class, g.err = Conflict, inbox.ErrConflict
		g.d.Scope, g.d.Key, g.d.Fingerprint = conflict.ID.Scope, conflict.ID.Key, conflict.Fingerprint
		return g, nil
	case errors.As(err, &key):
		g.class, g.err = Undecodable, key.Err
		return g, nil
	case retry.IsPermanent(err):
		g.class = Permanent
	}
	if errors.As(err, &gone) {
		g.err, g.failures, g.attempts = gone.Err, gone.Failures, gone.Attempts
		return g, nil
	}
	g.failures = []retry.Failure{{Class: retry.Classify(err), Err: err, Took: took, At: time.Now()}}
	g.attempts = 1
	return g, nil
}

// write commits the inbox row and the letter. Nil says that the message is kept or that
// somebody else has finished it.
//
// Rule (DESIGN §3, verdicts): the first verdict inserts the row; where there is one, it
// is another message's or the verdict comes too late.
func (w *middleware) write(ctx context.Context, g given) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	t, err := w.db.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer t.Rollback()
	id := inbox.ID{Scope: g.d.Scope, Key: g.d.Key}
	claimed, err := w.db.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: id, Fingerprint: g.d.Fingerprint}}, IdleTimeout: patience})
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	letter := w.letter(&g)
	switch first := claimed[0]; {
	case first.Result == inbox.Won && g.class == Conflict:
		return errors.New("the message that had the key first is not known any more") // delivered again, it has the key
	case first.Result == inbox.Won:
		if letter.Attempts, err = w.dead(ctx, t, id, g); err != nil {
			return err
		}
	case first.Entry.Fingerprint == g.d.Fingerprint:
		return nil
	default:
		if g.class != Conflict {
			letter = w.letter(&given{d: g.d, class: Conflict, err: fmt.Errorf("%w; and: %w", inbox.ErrConflict, g.err)})
		}
		letter.FirstPrint = first.Entry.Fingerprint
	}
	rows, err := Bury(ctx, t, w.db.Letters(), w.o.Alerts, letter, w.topic(g.d.Topic))
	if err != nil {
		return err
	}
	return w.commit(ctx, t, letter, rows)
}

func (w *middleware) commit(ctx context.Context, t *txn.Txn, l Letter, rows []outbox.Row) error {
	if err := w.db.Commit(ctx, t, rows); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if len(rows) > 0 {
		w.o.Wake()
	}
	w.o.Logger.LogAttrs(ctx, slog.LevelWarn, "message became a dead letter",
		slog.String("consumer", l.Consumer), slog.String("handler", l.Handler), slog.String("class", string(l.Class)),
		slog.String("error_print", l.ErrorPrint), slog.Int("attempts", l.Attempts))
	return nil
}

// dead marks the claimed message as dead and records its attempts. It returns how many
// there are.
func (w *middleware) dead(ctx context.Context, t *txn.Txn, id inbox.ID, g given) (n int, err error) {
	if _, err := w.db.Inbox().Transition(ctx, t, []inbox.ID{id}, inbox.Done, inbox.Dead); err != nil {
		return 0, fmt.Errorf("done to dead: %w", err)
	}
	for _, f := range g.failures {
		what := Describe(f.Err, stackOf(f.Err))
		n, err = w.db.Inbox().AddAttempt(ctx, t, inbox.Attempt{
			ID: id, Class: string(f.Class), Error: what.Error, ErrorType: what.Type, Duration: f.Took,
			Host: w.host, Build: w.build, Trace: g.d.Trace, Ago: time.Since(f.At),
		})
		if err != nil {
			return 0, fmt.Errorf("record attempt: %w", err)
		}
	}
	return n + g.attempts - len(g.failures), nil
}

func (w *middleware) letter(g *given) Letter {
	f := Describe(g.err, stackOf(g.err))
	_, handler, _ := strings.Cut(g.d.Scope, "/")
	return Letter{
		Class: g.class, Consumer: w.who.Consumer, Handler: handler, Delivery: g.d,
		Error: f.Error, Chain: f.Chain, Stack: f.Stack, ErrorPrint: f.Print, Host: w.host, Build: w.build,
	}
}

// stackOf returns the stack of a panic in err's chain.
func stackOf(err error) []byte {
	var p *retry.PanicError
	if errors.As(err, &p) {
		return p.Stack
	}
	return nil
}

// topic is where the copy goes; "" for none.
func (w *middleware) topic(topic string) string {
	dead, err := routed.CopyTopic(w.o.Topic, topic)
	if err != nil {
		w.o.Logger.Error("no copy of a dead letter: option Topic", "consumer", w.who.Consumer, "topic", topic, "error", err)
		return ""
	}
	return dead
}
