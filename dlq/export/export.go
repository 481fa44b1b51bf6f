package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/redact"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// ErrConsumers matches the error of an export of letters of two consumers.
var ErrConsumers = errors.New("letters of two consumers: export those of one at a time")

// Request says what to export.
type Request struct {
	// Filter chooses the letters, which are of one consumer.
	Filter dlq.Filter
	// By is who exports, and Reason why, for the audit.
	By, Reason string
	// Rules are what is redacted. Without rules nothing is: the audit tells of it, and the login
	// needs the right to import.
	Rules *redact.Rules
	// Progress, if set, is called with the number of letters so far.
	Progress func(done int)
}

// page is how many letters are looked for at a time.
const page = 500

// Export writes the letters of a filter to w, the oldest first, and returns the last line. It writes
// nothing if there is no letter: Count is 0 then. Letters that are decided on meanwhile may be
// missing. schema is how many migrations the database has.
func Export(ctx context.Context, st store.Store, schema int, r Request, w io.Writer) (End, error) {
	walk, err := search.NewOldestNow(ctx, st.Letters(), r.Filter)
	if err != nil {
		return End{}, err
	}
	e := &exporter{st: st, schema: schema, r: r, to: w}
	for more := true; more; {
		ids, err := walk.Next(ctx, page)
		if err != nil {
			return End{}, err
		}
		more = len(ids) == page
		for _, id := range ids {
			if err := e.letter(ctx, id); err != nil {
				return End{}, err
			}
		}
	}
	if e.w == nil {
		return End{}, nil
	}
	return e.w.End()
}

// exporter is one call of Export.
type exporter struct {
	st       store.Store
	schema   int
	r        Request
	to       io.Writer
	w        *Writer // nil before the first letter
	consumer string
}

// letter writes a letter, unless it is gone.
func (e *exporter) letter(ctx context.Context, id int64) error {
	l, err := read1(ctx, e.st, id)
	if errors.Is(err, dlq.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if want := e.r.Filter.State; !e.r.Filter.AnyState && l.State != want && (want != "" || l.State != dlq.Open) {
		return nil // another decision came first
	}
	switch {
	case e.w == nil:
		if err := e.begin(ctx, l.Consumer); err != nil {
			return err
		}
	case e.consumer != l.Consumer:
		return fmt.Errorf("%w: %s and %s", ErrConsumers, e.consumer, l.Consumer)
	}
	if e.r.Rules != nil {
		hide(e.r.Rules, l)
	}
	if err := e.w.Letter(l); err != nil {
		return err
	}
	if e.r.Progress != nil {
		e.r.Progress(e.w.count)
	}
	return nil
}

// begin writes the first line. What is not redacted is on record before it leaves.
func (e *exporter) begin(ctx context.Context, consumer string) error {
	id, err := e.st.Operations().Schema.Check(ctx)
	if err != nil {
		return err
	}
	h := Header{Database: id, Schema: e.schema, Consumer: consumer, At: time.Now().UTC(), By: e.r.By, Redacted: e.r.Rules != nil}
	running, err := e.st.Operations().Instances.List(ctx, consumer)
	if err != nil {
		return err
	}
	var newest time.Time
	for _, i := range running {
		if i.Started.After(newest) {
			newest, h.Environment = i.Started, i.Environment
		}
	}
	if !h.Redacted {
		err := store.Transact(ctx, e.st, func(t *txn.Txn) error {
			if err := e.st.Operations().Imports.AddAttempts(ctx, t, nil); err != nil {
				return err
			}
			return e.st.Operations().Audit.Record(ctx, t, audit.Row{
				Kind: audit.Consumer, Subject: consumer, Action: "export", By: e.r.By, Reason: e.r.Reason, Detail: "letters with nothing redacted",
			})
		})
		if err != nil {
			return err
		}
	}
	e.consumer = consumer
	e.w, err = NewWriter(e.to, h)
	return err
}

// read1 reads a letter with what is recorded about it.
func read1(ctx context.Context, st store.Store, id int64) (*Letter, error) {
	found, err := st.Letters().Get(ctx, id)
	if err != nil {
		return nil, err
	}
	l := &Letter{Letter: found}
	if l.Decisions, err = st.Letters().Trail(ctx, id); err != nil {
		return nil, err
	}
	if l.Rev > 0 {
		if l.Edits, err = st.Operations().Corrections.Edits(ctx, id); err != nil {
			return nil, err
		}
	}
	if l.Class == dlq.Conflict { // the runs and steps under its key are of another message
		return l, nil
	}
	if l.Runs, err = st.Inbox().Attempts(ctx, l.ID()); err != nil {
		return nil, err
	}
	steps, err := st.Operations().Steps.List(ctx, l.ID())
	for _, s := range steps {
		l.Steps = append(l.Steps, Step{Step: s.Step, System: s.System, State: s.State})
	}
	return l, err
}

// hide redacts what l says.
func hide(rules *redact.Rules, l *Letter) {
	d := &l.Delivery
	if d.Payload != nil {
		d.Payload = rules.Payload(d.Payload)
	}
	d.Metadata = rules.Headers(d.Metadata)
	if l.Rev == 0 {
		return
	}
	if l.Edit.Payload != nil {
		l.Edit.Payload = rules.Payload(l.Edit.Payload)
	}
	l.Edit.Metadata = rules.Headers(l.Edit.Metadata)
}
