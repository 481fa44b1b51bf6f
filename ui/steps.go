package ui

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
	"github.com/headrace/headrace/ui/read"
	"github.com/headrace/headrace/ui/view"
	"github.com/headrace/headrace/ui/who"
)

func stepsPage(v *visit) error { return showSteps(v, false, http.StatusOK) }

// showSteps shows the steps that the request asks for; whole says that their results are revealed.
func showSteps(v *visit, whole bool, status int) error {
	get := func(name string) string { return strings.TrimSpace(v.r.Form.Get(name)) }
	a := read.Asked{Key: get("key"), System: get("system"), ID: get("id"), State: get("state")}
	if a.State != "" && !slices.Contains(read.StepStates, a.State) {
		return refuse(http.StatusBadRequest, "The state of a step is one of %s.", strings.Join(read.StepStates, ", "))
	}
	from, err := cursor(v)
	if err != nil {
		return err
	}
	rows := int(min(from, read.MostSteps)) + pageShown
	d := struct {
		read.Steps
		States []string
		Next   string
		Flags  string
	}{States: read.StepStates, Flags: view.Flags("state", a.State)}
	if d.Steps, err = v.s.read.Steps(v.ctx(), a, rows); err != nil {
		return err
	}
	for i := range d.Of {
		showResult(v, &d.Of[i], whole)
	}
	d.Revealed = whole
	if slices.ContainsFunc(d.Lists, func(l read.StepList) bool { return l.More }) && rows < read.MostSteps {
		d.Next = view.Next(v.r.URL, int64(rows))
	}
	return v.page(status, "steps", "Steps", "steps", d)
}

// showResult puts what may be seen of a step's result into it, as content does for a message.
func showResult(v *visit, s *read.Step, whole bool) {
	c := Content{Payload: s.Result}
	if s.Result == nil || !v.who.Role.May(who.Operator) || !whole && v.s.o.Redact == nil {
		return
	}
	if !whole {
		c = v.s.o.Redact(Content{Payload: slices.Clone(s.Result), Headers: map[string]string{}})
	}
	s.Shown, s.Content, s.Blank = true, view.PayloadOf(c.Payload), c.Hidden
}

// revealSteps shows all results of the steps of a key, and the audit says so.
func revealSteps(v *visit) error {
	key := strings.TrimSpace(v.r.Form.Get("key"))
	d, err := v.s.read.Steps(v.ctx(), read.Asked{Key: key}, read.MostSteps)
	if err != nil {
		return err
	}
	if key == "" || len(d.Of) == 0 {
		return refuse(http.StatusNotFound, "No step of a message with this key is recorded.")
	}
	if stale, err := v.stale(d.Seen, func(status int) error { return showSteps(v, false, status) }); stale || err != nil {
		return err
	}
	err = store.Transact(v.ctx(), v.s.st, func(t *txn.Txn) error {
		return v.s.st.Operations().Audit.Record(v.ctx(), t, audit.Row{Kind: audit.Message, Subject: key, Action: "reveal", By: v.who.Name, Detail: "the results of its steps"})
	})
	if err != nil {
		return err
	}
	return showSteps(v, true, http.StatusOK)
}

// onSystem calls do with the system of a form, if the person has seen which ones are paused.
func onSystem(v *visit, do func(name string) (bool, error), otherwise string) error {
	name := strings.TrimSpace(v.r.PostForm.Get("name"))
	if err := ledger.CheckSystem(name); err != nil {
		return refuse(http.StatusBadRequest, "%v.", err)
	}
	_, seen, err := v.s.read.Systems(v.ctx())
	if err != nil {
		return err
	}
	show := func(status int) error { return showSteps(v, false, status) }
	if stale, err := v.stale(seen, show); stale || err != nil {
		return err
	}
	if done, err := do(name); err != nil {
		return err
	} else if !done {
		v.note = otherwise
		return show(http.StatusConflict)
	}
	return v.redirect(v.s.root + "/steps")
}

func pauseSystem(v *visit) error {
	return onSystem(v, func(name string) (bool, error) {
		why, err := reason(v)
		if err != nil {
			return false, err
		}
		span, err := time.ParseDuration(v.r.PostForm.Get("for"))
		if err != nil || span < time.Second || span > ledger.MaxPause {
			return false, refuse(http.StatusBadRequest, "A system is paused for at most %d days.", ledger.MaxPause/(24*time.Hour))
		}
		systems := v.s.st.Operations().Systems
		if known, err := systems.Known(v.ctx(), name); err != nil || !known {
			return false, err
		}
		return systems.Pause(v.ctx(), ledger.SystemPause{System: name, Left: span, By: v.who.Name, Reason: why})
	}, "Nothing was done: no step that is recorded calls this system, or it is paused for longer already.")
}

func resumeSystem(v *visit) error {
	return onSystem(v, func(name string) (bool, error) {
		return v.s.st.Operations().Systems.Resume(v.ctx(), name, v.who.Name)
	}, "Nothing was done: it was not paused.")
}
