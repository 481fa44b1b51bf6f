package ui

import (
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/rehearsal"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
	"github.com/headrace/headrace/ui/read"
	"github.com/headrace/headrace/ui/view"
	"github.com/headrace/headrace/ui/who"
)

func letter(v *visit) error {
	id, err := v.number()
	if err != nil {
		return err
	}
	return v.showLetter(id, false, http.StatusOK)
}

// showLetter shows a letter; whole says that its values are revealed.
func (v *visit) showLetter(id int64, whole bool, status int) error {
	detail, err := redrive.New(v.s.st).Show(v.ctx(), id)
	if err != nil {
		return err
	}
	d, err := v.s.read.Letter(v.ctx(), detail)
	if err != nil {
		return err
	}
	v.content(&d, whole)
	return v.page(status, "letter", "Letter "+view.Count(id), "search", d)
}

// content puts what may be seen of a message into d: all if it was revealed, otherwise what Redact
// leaves, and that for operators only.
func (v *visit) content(d *read.Letter, whole bool) {
	m := d.Message()
	c := Content{Payload: m.Payload, Headers: m.Metadata}
	switch {
	case d.Hidden:
		return
	case whole:
		d.Revealed = true
	case v.s.o.Redact == nil || !v.who.Role.May(who.Operator):
		return
	default:
		c = v.s.o.Redact(Content{Payload: slices.Clone(c.Payload), Headers: maps.Clone(c.Headers)})
	}
	d.Shown, d.Content, d.Headers, d.Blank = true, view.PayloadOf(c.Payload), c.Headers, c.Hidden
}

// onLetter calls do with the letter of a form, if the person has seen its present state.
func (v *visit) onLetter(whichSeen func(seen, plan string) string, do func(detail redrive.Detail, show present) error) error {
	id, err := v.number()
	if err != nil {
		return err
	}
	detail, err := redrive.New(v.s.st).Show(v.ctx(), id)
	if err != nil {
		return err
	}
	seen, plan, err := v.s.read.LetterSeen(v.ctx(), detail.Letter)
	if err != nil {
		return err
	}
	show := func(status int) error { return v.showLetter(id, false, status) }
	if stale, err := v.stale(whichSeen(seen, plan), show); stale || err != nil {
		return err
	}
	return do(detail, show)
}

func seenLetter(seen, _ string) string     { return seen }
func seenLetterPlan(_, plan string) string { return plan }
func planLetter(v *visit) error            { return planOfLetter(v, job.Redriving) }
func discardLetter(v *visit) error         { return planOfLetter(v, job.Discarding) }

func planOfLetter(v *visit, kind job.Kind) error {
	return v.onLetter(seenLetterPlan, func(d redrive.Detail, show present) error {
		return v.plan(kind, dlq.Filter{Consumer: d.Letter.Consumer, IDs: []int64{d.Letter.LetterID}}, nil, show)
	})
}

func rehearseLetter(v *visit) error {
	return v.onLetter(seenLetter, func(d redrive.Detail, show present) error {
		return v.rehearse(d.Letter.Consumer, rehearsal.Args{Letters: []int64{d.Letter.LetterID}}, show)
	})
}

// revealLetter shows all values of a message, and the audit says so.
func revealLetter(v *visit) error {
	return v.onLetter(seenLetter, func(d redrive.Detail, _ present) error {
		if err := record(v, "reveal", d); err != nil {
			return err
		}
		return v.showLetter(d.Letter.LetterID, true, http.StatusOK)
	})
}

// downloadLetter sends the payload as a file, and the audit says so.
func downloadLetter(v *visit) error {
	return v.onLetter(seenLetter, func(d redrive.Detail, _ present) error {
		if err := record(v, "download", d); err != nil {
			return err
		}
		name := "letter-" + strconv.FormatInt(d.Letter.LetterID, 10) + ".txt"
		v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		v.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
		_, _ = v.w.Write(d.Letter.Message().Payload) // the reader is gone, or not
		return nil
	})
}

// record writes into the audit that a person saw what a message says.
func record(v *visit, action string, d redrive.Detail) error {
	if d.Hidden != nil {
		return refuse(http.StatusForbidden, "The login of the database may not read what messages say.")
	}
	return store.Transact(v.ctx(), v.s.st, func(t *txn.Txn) error {
		return v.s.st.Operations().Audit.Record(v.ctx(), t, audit.Row{
			Kind: audit.Letter, Subject: strconv.FormatInt(d.Letter.LetterID, 10), Action: action, By: v.who.Name,
			Reason: strings.TrimSpace(v.r.PostForm.Get("reason")),
		})
	})
}
