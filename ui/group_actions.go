package ui

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/rehearsal"
	"github.com/headrace/headrace/ui/read"
	"github.com/headrace/headrace/ui/view"
)

// onGroup calls do with the group of a form, if the person has seen its present state as seen says.
func (v *visit) onGroup(seen func(read.GroupSeen) string, do func(g groups.Group, d read.GroupSeen, show present) error) error {
	g, only, err := v.theGroup()
	if err != nil || !only {
		return err
	}
	show := func(status int) error { return v.showGroup(g, status) }
	d, err := v.s.read.GroupSeen(v.ctx(), g)
	if err != nil {
		return err
	}
	if stale, err := v.stale(seen(d), show); stale || err != nil {
		return err
	}
	return do(g, d, show)
}

// changeGroup is onGroup for what is written at once: the person goes back to the group.
func (v *visit) changeGroup(seen func(read.GroupSeen) string, do func(id groups.ID) error) error {
	return v.onGroup(seen, func(g groups.Group, _ read.GroupSeen, _ present) error {
		if err := do(g.ID); err != nil {
			return err
		}
		return v.redirect(view.To(v.s.root, "g/"+g.ErrorFingerprint, "consumer", g.Consumer, "handler", g.Handler))
	})
}

func seenPlan(d read.GroupSeen) string    { return d.SeenPlan }
func seenResolve(d read.GroupSeen) string { return d.SeenResolve }
func seenMute(d read.GroupSeen) string    { return d.SeenMute }
func seenNote(d read.GroupSeen) string    { return d.SeenNote }

func rehearseGroup(v *visit) error {
	return v.onGroup(seenPlan, func(g groups.Group, _ read.GroupSeen, show present) error {
		f := dlq.Filter{Handler: g.Handler, ErrorFingerprint: g.ErrorFingerprint}
		return v.rehearse(g.Consumer, rehearsal.Args{Filter: f, Count: rehearsal.Usual}, show)
	})
}

func planGroup(v *visit) error { return planOfGroup(v, job.Redriving) }

// discardGroup plans it only: the page of the plan asks for the reason.
func discardGroup(v *visit) error { return planOfGroup(v, job.Discarding) }

func planOfGroup(v *visit, kind job.Kind) error {
	return v.onGroup(seenPlan, func(g groups.Group, d read.GroupSeen, show present) error {
		return v.plan(kind, read.LettersOf(g), &d.Newest, show)
	})
}

func resolveGroup(v *visit) error {
	return v.changeGroup(seenResolve, func(id groups.ID) error {
		return v.s.st.Operations().Groups.Resolve(v.ctx(), id, v.who.Name, strings.TrimSpace(v.r.PostForm.Get("build")))
	})
}

func muteGroup(v *visit) error {
	return v.changeGroup(seenMute, func(id groups.ID) error {
		var span time.Duration
		var letters int64
		var err error
		if text := v.r.PostForm.Get("for"); text != "" {
			if span, err = time.ParseDuration(text); err != nil || span <= 0 || span > 90*24*time.Hour {
				return refuse(http.StatusBadRequest, "A group is muted for at most 90 days.")
			}
		}
		if text := v.r.PostForm.Get("letters"); text != "" {
			if letters, err = strconv.ParseInt(text, 10, 64); err != nil || letters < 1 {
				return refuse(http.StatusBadRequest, "The number of letters is at least 1.")
			}
		}
		m := groups.Mute{MutedBy: v.who.Name, EvenIfWorse: v.r.PostForm.Get("worse") != ""}
		return v.s.st.Operations().Groups.Mute(v.ctx(), id, m, span, letters)
	})
}

func unmuteGroup(v *visit) error {
	return v.changeGroup(seenMute, func(id groups.ID) error {
		_, err := v.s.st.Operations().Groups.Unmute(v.ctx(), id, v.who.Name)
		return err
	})
}

func noteGroup(v *visit) error {
	return v.changeGroup(seenNote, func(id groups.ID) error {
		form := v.r.PostForm
		assignee, link := strings.TrimSpace(form.Get("assignee")), strings.TrimSpace(form.Get("link"))
		text := strings.TrimSpace(strings.ReplaceAll(form.Get("note"), "\r\n", "\n"))
		if link != "" && read.Web(link) == "" {
			return refuse(http.StatusBadRequest, "The link is not one of http or https.")
		}
		return v.s.st.Operations().Groups.Note(v.ctx(), id, groups.Note{By: v.who.Name, Assignee: &assignee, Text: &text, Link: &link})
	})
}
