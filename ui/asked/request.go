package asked

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/internal/rehearsal"
	"github.com/headrace/headrace/ui/read"
	"github.com/headrace/headrace/ui/view"
)

// Request is what the page of a request shows.
type Request struct {
	instance.Request
	// Answer is what became of it, Done that it is answered, and Error why nothing was done.
	Answer instance.Answer
	Done   bool
	Error  string
	// Redrive is what it has made or changed; 0 for none. Did says what else it has done.
	Redrive int64
	Did     string
	// Says is what else is to be known, in sentences, and Letters are those that it was about or made.
	Says    []string
	Letters []int64
	// Report is that of a rehearsal, nil otherwise, and Reasons are its results, put together;
	// Passes says that all would pass.
	Report  *rehearsal.Report
	Reasons []view.Reason
	Passes  bool
	// Group is what was rehearsed, nil if it was no group; SeenPlan is for the form of its plan.
	Group    *groups.Group
	SeenPlan string
	// Idle is as in read.Group.
	Idle bool
}

// Read reads what became of a request. The error matches instance.ErrGone if there is none.
func Read(ctx context.Context, r read.Reader, id int64) (d *Request, err error) {
	ops := r.Store.Operations()
	d = &Request{}
	d.Request, d.Answer, d.Done, err = instance.Asker{Requests: ops.Requests, Instances: ops.Instances}.Look(ctx, id)
	switch {
	case errors.Is(err, instance.ErrNoAnswer), errors.Is(err, instance.ErrLost):
		d.Error = err.Error()
		return d, nil
	case err != nil || !d.Done:
		return d, err
	case d.Kind == rehearsal.Kind:
		return d, d.report(ctx, r)
	}
	if err := d.read(); err != nil {
		d.Error, d.Letters = err.Error(), nil
	}
	return d, nil
}

// read reads the answer of what is no rehearsal.
func (d *Request) read() (err error) {
	switch d.Kind {
	case intervene.RetryKind:
		var done intervene.Answer
		err = d.Answer.Read(&done)
		d.Did = view.Plural(int64(done.Done), "message is", "messages are") + " due now"
	case editing.RestoreKind:
		var done editing.Restored
		err = d.Answer.Read(&done)
		d.Did = view.Plural(int64(done.Done), "letter is", "letters are") + " open again"
	case editing.EditKind:
		var done editing.Edited
		err = d.Answer.Read(&done)
		d.Did, d.Says, d.Letters = fmt.Sprintf("letter %d has rev %d, key %s", done.LetterID, done.Rev, view.Dash(done.Key)), done.Says(), []int64{done.LetterID}
	case editing.NewKeyKind:
		var done editing.NewKey
		err = d.Answer.Read(&done)
		d.Did, d.Letters = fmt.Sprintf("letter %d is redriven under the key %s", done.LetterID, done.Key), []int64{done.LetterID}
	case intervene.CancelKind:
		var done intervene.Answer
		err = d.Answer.Read(&done)
		d.Did, d.Letters = view.Plural(int64(done.Done), "message is", "messages are")+" cancelled", done.Letters
	case intervene.ResolveKind:
		var done intervene.Resolved
		err = d.Answer.Read(&done)
		d.Did = fmt.Sprintf("step %s is %s", done.Step, done.State)
	case intervene.SendKind:
		var done intervene.Sent
		err = d.Answer.Read(&done)
		d.Did = "signal " + done.Step + " is sent"
	case intervene.EraseKind:
		var done intervene.Erased
		err = d.Answer.Read(&done)
		d.Did = view.Plural(int64(done.Done), "result is", "results are") + " erased"
	default:
		var done redriving.Answer
		err = d.Answer.Read(&done)
		d.Redrive = done.ID
	}
	return err
}

// report reads the answer of a rehearsal.
func (d *Request) report(ctx context.Context, r read.Reader) error {
	var args rehearsal.Args
	if err := d.Request.Read(&args); err != nil {
		return err
	}
	var report rehearsal.Report
	if err := d.Answer.Read(&report); err != nil {
		d.Error = err.Error()
	} else {
		d.Report, d.Reasons = &report, view.Reasons(report)
		d.Passes = report.Pass == len(report.Results)+report.NotReached
	}
	if args.Filter.ErrorFingerprint == "" {
		return nil
	}
	f := groups.Filter{Consumer: d.Consumer, Handler: args.Filter.Handler, ErrorFingerprint: args.Filter.ErrorFingerprint, Closed: true}
	list, err := r.Store.Operations().Groups.List(ctx, f)
	if err != nil || len(list) == 0 {
		return err
	}
	if d.Idle, err = r.Idle(ctx, d.Consumer); err != nil {
		return err
	}
	seen, err := r.GroupSeen(ctx, list[0])
	d.Group, d.SeenPlan = &list[0], seen.SeenPlan
	return err
}
