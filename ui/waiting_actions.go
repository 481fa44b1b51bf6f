package ui

import (
	"net/http"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/ui/view"
)

// retryGroup makes the messages of a handler due that wait after the same failure.
func retryGroup(v *visit) error {
	get := v.r.PostForm.Get
	consumer, args := get("consumer"), intervene.Args{Handler: get("handler"), ErrorFingerprint: get("group")}
	if consumer == "" || args.Handler == "" || args.ErrorFingerprint == "" {
		return refuse(http.StatusBadRequest, "Which messages? Choose a group of the list.")
	}
	seen, err := v.s.read.RetrySeen(v.ctx(), consumer, args)
	if err != nil {
		return err
	}
	show := func(status int) error { return showBacklog(v, status) }
	if stale, err := v.stale(seen, show); stale || err != nil {
		return err
	}
	return v.ask(instance.Request{Kind: intervene.RetryKind, Consumer: consumer}, args, instance.Valid, show)
}

// restoreLetter takes the discard of a letter back.
func restoreLetter(v *visit) error {
	return v.onLetter(seenLetter, func(d redrive.Detail, show present) error {
		why, err := reason(v)
		if err != nil {
			return err
		}
		if d.Letter.State != dlq.Discarded {
			v.note = "Refused: it is not discarded."
			return show(http.StatusConflict)
		}
		r := instance.Request{Kind: editing.RestoreKind, Consumer: d.Letter.Consumer, Reason: why}
		return v.ask(r, editing.Restore{IDs: []int64{d.Letter.LetterID}}, instance.Valid, show)
	})
}

// unpark publishes the parked events of an outbox again.
func unpark(v *visit) error {
	name := v.r.PostForm.Get("outbox")
	list, err := v.s.st.Outbox().List(v.ctx(), name)
	if err != nil {
		return err
	}
	if name == "" || len(list) != 1 {
		return refuse(http.StatusNotFound, "There is no such outbox, or nothing waits in it.")
	}
	show := func(status int) error { return showOutboxes(v, status) }
	if stale, err := v.stale(view.Seen(list[0].Parked), show); stale || err != nil {
		return err
	}
	if _, err := v.s.st.Outbox().Unpark(v.ctx(), name, nil); err != nil {
		return err
	}
	return v.redirect(view.To(v.s.root, "outbox"))
}
