package ui

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/internal/rehearsal"
	"github.com/headrace/headrace/internal/sleep"
)

const (
	// answerTimeout is how long an action waits for the answer of a process before it shows the
	// request instead, and lookEvery the time between two looks.
	answerTimeout = 4 * time.Second
	lookEvery     = 100 * time.Millisecond
)

// changed is shown with the present state of what a person decided on.
const changed = "It has changed since you looked, so nothing was done. This is the present state."

// present shows the present state of what an action is about, with a status.
type present func(status int) error

// stale reports whether what the form says the person saw is not the present state, after it has
// shown that; a form that was sent before leads where it led then.
func (v *visit) stale(seen string, show present) (bool, error) {
	v.present = show
	if form := once(v); form != "" {
		id, err := v.asker().Requests.Asked(v.ctx(), form)
		if err != nil {
			return false, err
		}
		if id != 0 {
			return true, v.await(id, show)
		}
	}
	if v.r.PostForm.Get("seen") == seen {
		return false, nil
	}
	v.note = changed
	return true, show(http.StatusConflict)
}

// reason is why, in the person's words.
func reason(v *visit) (string, error) {
	reason := strings.TrimSpace(v.r.PostForm.Get("reason"))
	if reason == "" {
		return "", refuse(http.StatusBadRequest, "Say why: the reason goes into the audit.")
	}
	return reason, nil
}

func (v *visit) asker() instance.Asker {
	o := v.s.st.Operations()
	return instance.Asker{Requests: o.Requests, Instances: o.Instances, Every: lookEvery}
}

// ask asks the processes of a consumer, and goes to what became of it. A refusal is shown with the
// present state.
func (v *visit) ask(r instance.Request, args any, valid time.Duration, show present) error {
	r, err := r.With(args)
	if err != nil {
		return err
	}
	r.By, r.Once = v.who.Name, once(v)
	id, err := v.asker().Start(v.ctx(), r, valid)
	if err != nil {
		return v.refused(err, show)
	}
	return v.await(id, show)
}

// once names the form that was sent, with all that is filled in: the second of two clicks, also on another
// server of the pages, asks for nothing new. "" if the form has no mark of ours.
func once(v *visit) string {
	if v.r.PostForm.Get("form") == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(v.who.Name+"\x00"+v.r.URL.Path+"\x00"+v.r.PostForm.Encode())))
}

// await waits for the answer to a request, and goes to what it led to.
func (v *visit) await(id int64, show present) error {
	for end := time.Now().Add(answerTimeout); time.Now().Before(end) && sleep.For(v.ctx(), lookEvery); {
		r, answer, done, err := v.asker().Look(v.ctx(), id)
		if err != nil {
			return v.refused(err, show)
		}
		if done {
			return answered(v, r, answer, show)
		}
	}
	return v.numbered("q", id)
}

// answered goes to what a request has led to.
func answered(v *visit, r instance.Request, answer instance.Answer, show present) error {
	var done redriving.Answer
	switch r.Kind {
	case rehearsal.Kind, intervene.RetryKind, intervene.CancelKind, editing.RestoreKind, editing.EditKind, editing.NewKeyKind:
		if answer.State == instance.RequestDone {
			return v.numbered("q", r.ID)
		}
		return v.refused(answer.Read(nil), show)
	}
	if err := answer.Read(&done); err != nil {
		return v.refused(err, show)
	}
	return v.numbered("r", done.ID)
}

// refused shows the present state with the refusal of a process, or that none answers.
func (v *visit) refused(err error, show present) error {
	switch {
	case errors.Is(err, instance.ErrRefused):
		v.note = "Refused: " + err.Error()
		return show(http.StatusConflict)
	case errors.Is(err, instance.ErrNoAnswer), errors.Is(err, instance.ErrLost):
		v.note = err.Error()
		return show(http.StatusServiceUnavailable)
	}
	return err
}

// rehearse asks the newest build of a consumer to rehearse letters.
func (v *visit) rehearse(consumer string, args rehearsal.Args, show present) error {
	build, err := inspect.NewestBuild(v.ctx(), v.s.st, consumer)
	if err != nil {
		return err
	}
	return v.ask(instance.Request{Kind: rehearsal.Kind, Consumer: consumer, Build: build}, args, instance.Valid, show)
}

// plan asks for a plan of the letters of a filter, or for that which another person has made since the
// redrive since, unless that is nil.
func (v *visit) plan(kind job.Kind, f dlq.Filter, since *int64, show present) error {
	p := redriving.Plan{Kind: kind, Filter: f, Says: inspect.Words(f), Since: since, Options: job.DefaultOptions()}
	return v.ask(instance.Request{Kind: redriving.KindPlan, Consumer: f.Consumer}, p, instance.Valid, show)
}
