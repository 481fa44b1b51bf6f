package inspect

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/store"
)

// timeForm is how a sentence tells a time.
const timeForm = "2006-01-02T15:04:05.000Z"

const (
	// maxLooks bounds how many letters under way Outcomes looks at.
	maxLooks = 10_000
	// MaxSurvey bounds the letters that are looked at to see whether they can still be sent.
	MaxSurvey = 100
	// maxAudit bounds the rows of a group's audit among which its newest rehearsal is looked for.
	maxAudit = 50
)

// working is after how long without a step a running job is called silent.
const working = 5 * time.Second

// Outcomes returns how many letters of a redrive have each outcome, without those that none has.
func Outcomes(ctx context.Context, st store.Store, r job.Redrive) (map[job.Outcome]int64, error) {
	all := map[job.Outcome]int64{
		job.Queued: r.Queued(), job.Succeeded: r.Succeeded, job.FailedAgain: r.FailedAgain, job.Unknown: r.Unknown, job.Skipped: r.Skipped,
	}
	maps.DeleteFunc(all, func(_ job.Outcome, n int64) bool { return n <= 0 })
	if r.UnderWay() <= 0 {
		return all, nil
	}
	looks, err := st.Operations().Redrives.LooksOf(ctx, r.ID, 0, math.MaxInt64, maxLooks)
	for i := range looks {
		all[looks[i].Outcome()]++
	}
	return all, err
}

// Silent reports whether a running redrive makes no step.
func Silent(r job.Redrive) bool { return r.State == job.Running && r.Now.Sub(r.Stepped) > working }

// Gone returns how many of the next queued letters of a redrive were looked at, and of those the ones
// that will not be sent, since others have decided on them.
func Gone(ctx context.Context, st store.Store, r job.Redrive) (looked, gone int64, err error) {
	if r.Queued() <= 0 || r.State.Ended() {
		return 0, 0, nil
	}
	survey, err := st.Operations().Redrives.Survey(ctx, r.ID, MaxSurvey)
	for _, s := range survey {
		looked, gone = looked+s.Letters, gone+s.Closed
	}
	return looked, gone, err
}

// Check says what is to be known before a plan is applied.
type Check struct {
	// OK says that nothing is wrong. Says is what was looked at.
	OK   bool   `json:"ok"`
	Says string `json:"says"`
	// Hint is what helps at a command line; "" if nothing does.
	Hint string `json:"-"`
	// Next are the words of the command to go on with in place of the application, which would be refused or do
	// nothing; none if that is no matter.
	Next []string `json:"-"`
}

// Checks says what is to be known of a plan.
func Checks(ctx context.Context, st store.Store, r job.Redrive) (list []Check, err error) {
	add := func(ok bool, hint, format string, args ...any) {
		list = append(list, Check{OK: ok, Says: fmt.Sprintf(format, args...), Hint: hint})
	}
	now, err := st.Operations().Redrives.Survey(ctx, r.ID, MaxSurvey)
	if err != nil {
		return nil, err
	}
	builds, err := Running(ctx, st, r.Consumer)
	if err != nil {
		return nil, err
	}
	all, wrote := sum(r.Survey, builds)
	first, _ := sum(now, builds)
	if !r.Now.Before(r.Expires) {
		add(false, "", "it was valid until %s: plan it again", r.Expires.UTC().Format(timeForm))
	}
	list = append(list, ofLetters(r, all, first)...)
	rehearsed, err := ofRehearsal(ctx, st, r, builds)
	if err != nil {
		return nil, err
	}
	list = append(list, rehearsed...)
	list = append(list, ofBuilds(r, builds))
	if r.Kind == job.Redriving && len(builds) > 0 && len(wrote) == len(builds) {
		add(false, "", "%s wrote these letters, and no other build runs: has the cause been mended?", job.NameBuilds(wrote))
	}
	p, err := st.Operations().Pauses.Get(ctx, r.Consumer)
	if err != nil {
		return nil, err
	}
	if p.Lasts() {
		c := Check{Says: fmt.Sprintf("%s is paused by %s", r.Consumer, p.By), Hint: "headrace consumer resume " + r.Consumer}
		if r.Kind == job.Redriving {
			c.Next = []string{"consumer", "resume", r.Consumer}
		}
		list = append(list, c)
	}
	newer, err := st.Operations().Redrives.NewLetters(ctx, r, slices.Collect(maps.Keys(builds)))
	if err != nil {
		return nil, err
	}
	if newer > 0 {
		add(false, "", "%d new letters for the same reasons since then: the fix does not work", newer)
	}
	depth, err := st.Backlog().Depth(ctx, r.Consumer)
	if err != nil {
		return nil, err
	}
	if depth.Ready > 0 {
		add(false, "", "%d messages of %s wait, the oldest for %s: the redrive goes behind them", depth.Ready, r.Consumer, depth.Oldest.Round(time.Second))
	}
	return list, nil
}

// ofRehearsal says how the newest rehearsal of the group of a plan went, if there was one. It is of now, since a
// plan does not change.
func ofRehearsal(ctx context.Context, st store.Store, r job.Redrive, builds map[string]int) ([]Check, error) {
	if r.Kind != job.Redriving || r.ErrorFingerprint == "" {
		return nil, nil
	}
	rows, err := st.Operations().Audit.List(ctx, audit.Filter{Kind: audit.Group, Subject: r.ErrorFingerprint}, 0, maxAudit)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(rows, r.Rehearsed)
	if i < 0 {
		return nil, nil
	}
	c := Check{OK: rows[i].Action == job.Rehearsed, Says: fmt.Sprintf("%s, %s ago", rows[i].Reason, r.Now.Sub(rows[i].At).Round(time.Second))}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(builds)), func(build string) bool { return job.RehearsedOn(rows[i], build) }) {
		c.OK, c.Says = false, c.Says+": no process runs that build now"
	}
	return []Check{c}, nil
}

// ofBuilds says which builds of the consumer run.
func ofBuilds(r job.Redrive, builds map[string]int) Check {
	c := Check{OK: len(builds) == 1, Says: fmt.Sprintf("%s runs %s", r.Consumer, onBuilds(builds))}
	switch {
	case len(builds) == 0:
		c.Next = []string{"consumer", "ls", r.Consumer}
	case len(builds) > 1 && r.Kind == job.Redriving: // a discard runs no handler
		c.Hint = "redrive apply --wait waits until one of them is left"
		c.Next = []string{"redrive", "apply", job.Name(r.ID), "--wait", "10m", "--reason", "WHY"}
	}
	return c
}

// sum adds up what is known of the letters of a plan, and returns which builds that run wrote some.
func sum(survey []job.Survey, builds map[string]int) (all job.Survey, wrote []string) {
	for _, s := range survey {
		if builds[s.Build] > 0 {
			wrote = append(wrote, s.Build)
		}
		all.Plus(s)
	}
	slices.Sort(wrote)
	return all, slices.Compact(wrote)
}

// ofLetters says what is to be known of the letters of a plan: all of them as they were when they
// were listed, and the first ones as they are now.
func ofLetters(r job.Redrive, all, first job.Survey) []Check {
	list := []Check{{OK: first.Closed == 0, Says: fmt.Sprintf("%d of %d open", first.Letters-first.Closed, first.Letters)}}
	if first.Closed > 0 && first.Closed == r.Count {
		list[0].Next = []string{"redrive", "cancel", job.Name(r.ID), "--reason", "WHY"}
	}
	if first.Letters < r.Count {
		list[0].Says = fmt.Sprintf("%d letters; of the first %d, %d are open", r.Count, first.Letters, first.Letters-first.Closed)
	}
	if first.Held > 0 {
		list = append(list, Check{
			Says: fmt.Sprintf("%d are in another redrive that is not finished, too", first.Held), Hint: "headrace redrive show " + job.Name(first.HeldBy),
		})
	}
	if r.Kind == job.Discarding {
		if all.OpenCalls > 0 {
			list = append(list, Check{
				Says: fmt.Sprintf("%d with a step whose call may have been carried out: they stay open unless you discard them, too", all.OpenCalls), Hint: "headrace redrive apply --open-calls",
			})
		}
		return list
	}
	for _, c := range []struct {
		n    int64
		says string
		next []string // if it is so of all letters
	}{
		{all.Again, "redriven before", nil}, {all.Crashed, "ended their process, and are sent one at a time", nil},
		{all.StandIn, "without a key of their own: their handler is asked again", nil},
		{all.Conflicts, "conflicts, which are skipped: each needs a new key", []string{"dlq", "ls", "--consumer", r.Consumer, "--class", string(dlq.Conflict)}},
		{all.Review, "with a step that needs a person, which are skipped", []string{"steps", "ls"}},
	} {
		if c.n == 0 {
			continue
		}
		one := Check{Says: fmt.Sprintf("%d %s", c.n, c.says)}
		if c.n == r.Count {
			one.Next = c.next
		}
		list = append(list, one)
	}
	return list
}

// onBuilds names builds with their processes.
func onBuilds(builds map[string]int) string {
	var names []string
	for _, b := range slices.Sorted(maps.Keys(builds)) {
		name := b
		if name == "" {
			name = "-"
		}
		names = append(names, fmt.Sprintf("%s on %d", name, builds[b]))
	}
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ", ")
}

// Stages returns how many letters each stage of a plan has, the rest last.
func Stages(r job.Redrive) (sizes []int64) {
	rest := r.Count
	for _, n := range r.Stages {
		if n := min(int64(n), rest); n > 0 {
			sizes = append(sizes, n)
			rest -= n
		}
	}
	if rest > 0 {
		sizes = append(sizes, rest)
	}
	return sizes
}
