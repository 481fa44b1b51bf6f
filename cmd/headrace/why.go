package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/migrate"
)

const (
	// lookedAt bounds how many letters of a group are counted by hour and build.
	lookedAt = 20_000
	// hoursShown is how many hours the strip of hours has.
	hoursShown = 24
	// leastDigits is how many digits of a group's fingerprint name it, and allDigits how
	// many it has.
	leastDigits, allDigits = 4, 16
)

// whyView is a group with what helps to find its cause, as JSON.
type whyView struct {
	dlq.Group
	// Looked is how many of the letters, the newest ones, Hours and Builds count.
	Looked int64         `json:"looked_at"`
	Hours  []groups.Hour `json:"hours"`
	Builds []buildView   `json:"builds"`
	// Processes is how many of the consumer run.
	Processes int        `json:"processes"`
	Letter    detailView `json:"letter"` // the newest one
}

// buildView is a build that has written letters of a group, or runs.
type buildView struct {
	Build   string    `json:"build"`
	Letters int64     `json:"letters"`
	First   time.Time `json:"first_letter,omitzero"`
	Running int       `json:"running"`        // processes
	Since   time.Time `json:"since,omitzero"` // the start of the first of them
}

func (m *Main) whyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "why GROUP", Short: "show a group: since when, from which builds, what runs now, and one letter", Args: one("GROUP"),
		Long: `Shows what is known of the open letters of a group: when they came, which builds wrote them, which
builds run now, and the newest letter with its attempts. GROUP is the error fingerprint, or its
first digits, at least 4 (see headrace dlq groups). If several handlers have
letters of that fingerprint, --consumer and --handler choose.`,
		Example: "  headrace dlq why 3f2a",
	}
	var of dlq.Filter
	addOwner(c, &of)
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		f := of
		f.ErrorFingerprint = args[0]
		return m.withStore(ctx, func(st openStore) error {
			admin := redrive.New(st)
			g, err := m.oneGroup(ctx, admin, f)
			if err != nil {
				return err
			}
			v, err := whyOf(ctx, st, admin, g)
			if err != nil {
				return err
			}
			if m.json() {
				return m.emitJSON("", v)
			}
			return m.printWhy(v)
		})
	})
	return c
}

// wholeGroup replaces the first digits of a group's fingerprint by all of them. Where no
// group begins with them, they stay.
func wholeGroup(ctx context.Context, admin *redrive.Admin, f *dlq.Filter) error {
	digits := f.ErrorFingerprint
	switch {
	case digits == "" || len(digits) >= allDigits:
		return nil
	case len(digits) < leastDigits:
		return usagef("group %q: give at least %d digits of its error fingerprint", digits, leastDigits)
	}
	groups, err := admin.Groups(ctx, dlq.Filter{Consumer: f.Consumer, Handler: f.Handler, Class: f.Class, State: f.State, AnyState: f.AnyState})
	if err != nil {
		return err
	}
	found := make(map[string]bool)
	for _, g := range groups {
		if strings.HasPrefix(g.ErrorFingerprint, digits) {
			found[g.ErrorFingerprint] = true
		}
	}
	if len(found) > 1 {
		return usagef("group %q: several begin like that: %s", digits, strings.Join(slices.Sorted(maps.Keys(found)), ", "))
	}
	for fingerprint := range found {
		f.ErrorFingerprint = fingerprint
	}
	return nil
}

// oneGroup returns the group of f.
func (m *Main) oneGroup(ctx context.Context, admin *redrive.Admin, f dlq.Filter) (dlq.Group, error) {
	if err := wholeGroup(ctx, admin, &f); err != nil {
		return dlq.Group{}, err
	}
	groups, err := admin.Groups(ctx, f)
	if err != nil {
		return dlq.Group{}, err
	}
	if len(groups) == 0 {
		return dlq.Group{}, m.found(0, f)
	}
	if len(groups) > 1 {
		var list []string
		for _, g := range groups {
			list = append(list, fmt.Sprintf("%s/%s (%s)", g.Consumer, g.Handler, plural(g.Count, "letter", "letters")))
		}
		return dlq.Group{}, usagef("%s: several handlers have such letters, choose with --consumer or --handler: %s", f.ErrorFingerprint, strings.Join(list, ", "))
	}
	return groups[0], nil
}

func whyOf(ctx context.Context, st openStore, admin *redrive.Admin, g dlq.Group) (v whyView, err error) {
	v.Group, v.Hours = g, []groups.Hour{}
	hours, err := st.Operations().Groups.Hours(ctx, groups.ID{Consumer: g.Consumer, Handler: g.Handler, ErrorFingerprint: g.ErrorFingerprint})
	if err != nil {
		return v, err
	}
	v.Hours = append(v.Hours, hours...)
	known, err := consumers(ctx, st, g.Consumer)
	if err != nil {
		return v, err
	}
	for _, h := range hours {
		v.Looked += h.Count
	}
	v.Builds, v.Processes = buildsOf(hours, known)
	v.Letter, err = viewDetail(ctx, st, admin, g.SampleID, false)
	return v, err
}

// buildsOf returns the builds that wrote letters, by their first one, and then others that
// run; and how many processes run.
func buildsOf(hours []groups.Hour, known []*consumerView) (builds []buildView, processes int) {
	of := func(build string) *buildView {
		i := slices.IndexFunc(builds, func(b buildView) bool { return b.Build == build })
		if i < 0 {
			i, builds = len(builds), append(builds, buildView{Build: build})
		}
		return &builds[i]
	}
	for _, h := range hours {
		b := of(h.Build)
		b.Letters += h.Count
		if b.First.IsZero() || h.First.Before(b.First) {
			b.First = h.First
		}
	}
	for _, k := range known {
		for _, i := range k.Instances {
			if i.State != "running" {
				continue
			}
			b := of(i.Build)
			b.Running++
			processes++
			if b.Since.IsZero() || i.Started.Before(b.Since) {
				b.Since = i.Started
			}
		}
	}
	return builds, processes
}

func (m *Main) printWhy(v whyView) error {
	if err := m.line("%s  %s", v.ErrorFingerprint, text(v.Sample)); err != nil {
		return err
	}
	letters := plural(v.Count, "letter", "letters")
	if v.Looked < v.Count {
		letters += fmt.Sprintf(", of which the newest %d are counted below", v.Looked)
	}
	rows := [][]string{
		{"GROUP", fmt.Sprintf("%s/%s, %s, topic %s", v.Consumer, v.Handler, v.Class, text(v.Letter.Topic))},
		{"OPEN", fmt.Sprintf("%s, the first %s, the last %s", letters, when(v.First), when(v.Last))},
		{"24 H", strip(v.Hours, v.Last)},
	}
	title := "BUILDS"
	for _, b := range v.Builds {
		rows, title = append(rows, []string{title, short(text(b.Build), 40) + ": " + b.says(v.Looked, v.Processes)}), ""
	}
	if v.Processes == 0 {
		rows = append(rows, []string{title, "no process of " + v.Consumer + " runs"})
	}
	l := v.Letter
	rows = append(rows, []string{"LETTER", fmt.Sprintf("%d, key %s, %s, on %s", l.ID, l.Key, plural(l.Attempts, "attempt", "attempts"), text(strings.TrimSpace(l.Host+" "+l.Build)))})
	if l.TraceParent != "" {
		rows = append(rows, []string{"TRACE", l.TraceParent})
	}
	if err := m.table(nil, rows); err != nil {
		return err
	}
	if err := m.section("attempts", attemptLines(l.Runs)); err != nil {
		return err
	}
	if err := m.printStepsOf(l); err != nil {
		return err
	}
	if v.Class == dlq.Parked {
		m.next("steps %s", migrate.Quote(l.Key))
		return nil
	}
	m.next("dlq show %d --payload", l.ID)
	m.say("when it is mended: %s", m.command("dlq redrive --group "+v.ErrorFingerprint+" --reason WHY"))
	return nil
}

// says tells what a build has to do with the group.
func (b buildView) says(letters int64, processes int) string {
	wrote, runs := "no letter of this group", "does not run"
	if b.Letters > 0 {
		wrote = fmt.Sprintf("%d of %s, the first %s", b.Letters, plural(letters, "letter", "letters"), when(b.First))
	}
	if b.Running > 0 {
		runs = fmt.Sprintf("runs on %d of %s since %s", b.Running, plural(processes, "process", "processes"), when(b.Since))
	}
	return wrote + "; " + runs
}

// strip draws the hours up to last, one sign each.
func strip(hours []groups.Hour, last time.Time) string {
	counts, most := make([]int64, hoursShown), int64(1)
	end := last.UTC().Truncate(time.Hour)
	for _, h := range hours {
		if ago := int(end.Sub(h.Start) / time.Hour); ago >= 0 && ago < hoursShown {
			counts[hoursShown-1-ago] += h.Count
			most = max(most, counts[hoursShown-1-ago])
		}
	}
	signs := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, n := range counts {
		if n == 0 {
			b.WriteRune('·')
		} else {
			b.WriteRune(signs[(n*int64(len(signs))-1)/most])
		}
	}
	return fmt.Sprintf("%s  at most %d an hour, up to %s", b.String(), most, when(end.Add(time.Hour)))
}
