package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox"
	pages "github.com/headrace/headrace/ui/view"
)

// statusView is everything on one screen, as JSON.
type statusView struct {
	Consumers []*consumerState `json:"consumers"`
	Failing   []groupView      `json:"failing"` // groups of open letters, most frequent first
	// Cancelled are the open letters of messages that a person has cancelled: they are in no group.
	Cancelled int64     `json:"cancelled"`
	Outboxes  []boxView `json:"outboxes"`
	// Steps counts those of leased handlers that are pending, parked, skipped or await a
	// signal, up to ledger.MaxCount of each.
	Steps map[ledger.State]int64 `json:"steps"`
	// Suspect is the mode after a restore; nil if it is off.
	Suspect *suspectView `json:"suspect,omitempty"`
	// Systems are those that are paused.
	Systems  []systemView `json:"paused_systems"`
	Warnings []string     `json:"warnings"`
}

// consumerState is what is known of a consumer. Waiting counts its rows of the backlog that
// are ready, delayed or blocked, up to backlog.MaxDepth of each.
type consumerState struct {
	Consumer  string         `json:"consumer"`
	Processes int            `json:"processes"`          // that run
	Silent    int            `json:"ended_unexpectedly"` // that ended unexpectedly
	Builds    map[string]int `json:"builds"`             // of those that run
	// Environments are those of the processes that run, sorted.
	Environments []string      `json:"environments,omitempty"`
	Pause        *pauseView    `json:"pause,omitempty"`
	Waiting      int64         `json:"waiting"`
	Failed       int64         `json:"waiting_after_failure"` // those of them that failed, and wait for their next attempt
	Oldest       time.Duration `json:"oldest_ns"`
	Dead         int64         `json:"dead_letters"` // open letters
	// Rate is how many messages its processes apply in a second, and Median how long a run of a handler takes.
	Rate   float64       `json:"per_second"`
	Median time.Duration `json:"p50_ns"`

	handlers []string // of those that run; nil if unknown of one
	orphans  []backlog.HandlerDepth
}

func (m *Main) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "show consumers, what waits, fails, and has no owner", Args: noArgs,
		Long: `Shows on one screen the consumers with their builds, the messages that wait, the open dead letters by
group, the outbox, and what has no owner. Exit status 3 if there are open letters in groups, or warnings.`,
		RunE: m.do(func(ctx context.Context, _ []string) error {
			return m.withStore(ctx, func(st openStore) error {
				v, err := m.status(ctx, st)
				if err != nil {
					return fmt.Errorf("status: %w", err)
				}
				if err := m.printStatus(ctx, st, v); err != nil {
					return err
				}
				if len(v.Failing)+len(v.Warnings) > 0 {
					return errIncomplete
				}
				return nil
			})
		}),
	}
}

func (m *Main) status(ctx context.Context, st openStore) (v statusView, err error) {
	known, err := consumers(ctx, st, "")
	if err != nil {
		return v, err
	}
	if v.Failing, err = viewGroups(ctx, st, inspect.Groups, groups.Filter{}); err != nil {
		return v, err
	}
	if v.Cancelled, err = st.Letters().Count(ctx, dlq.Filter{Class: dlq.Cancelled}); err != nil {
		return v, err
	}
	if v.Outboxes, err = boxes(ctx, st, ""); err != nil {
		return v, err
	}
	if v.Steps, err = st.Operations().StepAdmin.Count(ctx, "", 0); err != nil {
		return v, err
	}
	mode, err := st.Operations().Suspect.Get(ctx)
	if err != nil {
		return v, err
	}
	v.Suspect = viewSuspect(mode)
	systems, err := st.Operations().Systems.List(ctx)
	if err != nil {
		return v, err
	}
	v.Systems = slices.DeleteFunc(systemViews(systems), func(s systemView) bool { return !s.Paused })
	v.Failing = append([]groupView{}, v.Failing...)
	unowned, err := v.addWaiting(ctx, st, known)
	if err != nil {
		return v, err
	}
	for _, g := range v.Failing {
		if i := slices.IndexFunc(v.Consumers, func(c *consumerState) bool { return c.Consumer == g.Consumer }); i >= 0 {
			v.Consumers[i].Dead += g.Count
		}
	}
	subscribed, err := st.Operations().Subscriptions.List(ctx, "")
	if err != nil {
		return v, err
	}
	v.Warnings = append(m.warnings(v, unowned, subscribed), m.unseenWarnings(v, subscribed)...)
	later, err := m.laterWarnings(ctx, st)
	v.Warnings = append(v.Warnings, later...)
	return v, err
}

// addWaiting adds the consumers with what waits for them, and returns how many messages are known to wait
// for others.
func (v *statusView) addWaiting(ctx context.Context, st openStore, known []*consumerView) (unowned int64, err error) {
	v.Consumers = []*consumerState{}
	for _, k := range known {
		c := stateOf(k)
		d, err := st.Backlog().Depth(ctx, k.Consumer)
		if err != nil {
			return 0, err
		}
		c.Waiting, c.Failed, c.Oldest = waiting(d), d.Delayed-d.Postponed, d.Oldest
		v.Consumers = append(v.Consumers, c)
	}
	depths, err := st.Backlog().Depths(ctx)
	for _, d := range depths {
		i := slices.IndexFunc(v.Consumers, func(c *consumerState) bool { return c.Consumer == d.Consumer })
		if i < 0 {
			unowned += waiting(d.Depth)
			continue
		}
		v.Consumers[i].add(d)
	}
	return unowned, err
}

// toldOtherwise are the kinds of alert whose matter status shows by itself.
var toldOtherwise = []alerts.Kind{
	alerts.GroupFailing, alerts.LettersOld, alerts.Paused, alerts.PauseForgotten, alerts.RowsParked, alerts.WorkWithoutOwner, alerts.StepParked,
	alerts.RedrivePaused, alerts.ConsumerAbsent, alerts.ConsumerCrashing, alerts.SubscriptionStalled,
}

// laterWarnings are about what the processes do for people: counting, alerts, and redrives.
func (m *Main) laterWarnings(ctx context.Context, st openStore) (list []string, err error) {
	said, err := late(ctx, st)
	if err != nil {
		return nil, err
	}
	if said != "" {
		list = append(list, said)
	}
	conditions, err := st.Operations().Conditions.List(ctx, "", true)
	if err != nil {
		return nil, err
	}
	for _, c := range conditions {
		if c.State == condition.Firing && !slices.Contains(toldOtherwise, c.Kind) {
			list = append(list, fmt.Sprintf("%s, since %s: %s", c.Title, m.when(c.Since), c.Command))
		}
	}
	redrives, err := st.Operations().Redrives.List(ctx, "", newestRedrives)
	for _, r := range redrives {
		if r.State == job.Paused {
			list = append(list, fmt.Sprintf("%s of %s has paused: %s: headrace redrive show %s", job.Name(r.ID), r.Consumer, r.Why, job.Name(r.ID)))
		}
	}
	return list, err
}

// newestRedrives is how many redrives status looks at.
const newestRedrives = 100

func waiting(d backlog.Depth) int64 { return d.Ready + d.Delayed + d.Blocked }

// waits says how much waits, and what for.
func (c *consumerState) waits() string {
	text := fmt.Sprintf("%s, oldest %s", plural(c.Waiting, "message waits", "messages wait"), c.Oldest.Round(time.Millisecond))
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d after a failure", c.Failed)
	}
	return text
}

// add adds what waits for one of its handlers, if no process has it.
func (c *consumerState) add(d backlog.HandlerDepth) {
	if c.handlers != nil && !slices.Contains(c.handlers, d.Handler) {
		c.orphans = append(c.orphans, d)
	}
}

func stateOf(k *consumerView) *consumerState {
	c, known := &consumerState{Consumer: k.Consumer, Builds: map[string]int{}, Rate: k.work.Rate, Median: k.work.Median}, true
	if k.Paused {
		c.Pause = k.Pause
	}
	for _, i := range k.Instances {
		switch i.State {
		case "running":
			c.Processes++
			c.Builds[i.Build]++
			c.handlers, known = append(c.handlers, i.Handlers...), known && i.Handlers != nil
			if i.Env != "" && !slices.Contains(c.Environments, i.Env) {
				c.Environments = append(c.Environments, i.Env)
			}
		case "dead":
			c.Silent++
		}
	}
	slices.Sort(c.Environments)
	if !known {
		c.handlers = nil
	}
	return c
}

// warnings returns what has no owner. unowned is how many messages wait for consumers
// of which no process and no pause is known.
func (m *Main) warnings(v statusView, unowned int64, subscribed []outbox.Subscription) []string {
	list := []string{}
	if v.Suspect != nil {
		list = append(list, v.Suspect.warning(m))
	}
	for _, c := range v.Consumers {
		if c.Processes == 0 && c.Waiting > 0 {
			list = append(list, fmt.Sprintf("%s: %s and no process runs", c.Consumer, plural(c.Waiting, "message waits", "messages wait")))
		}
		for _, d := range c.orphans {
			n := waiting(d.Depth) + d.Leased
			list = append(list, fmt.Sprintf("%s: %s for the handler %s, which no process has, oldest ready for %s: deploy one, see %s", short(c.Consumer, 40),
				plural(n, "message waits", "messages wait"), short(d.Handler, 60), d.Oldest.Round(time.Second),
				m.command("backlog ls --consumer "+migrate.Quote(d.Consumer)+" --handler "+migrate.Quote(d.Handler))))
		}
		if len(c.Environments) > 1 {
			list = append(list, fmt.Sprintf("%s: its processes belong to several environments: %s", c.Consumer, strings.Join(c.Environments, ", ")))
		}
		if c.Silent > 0 {
			list = append(list, fmt.Sprintf("%s: %s unexpectedly", c.Consumer, plural(c.Silent, "process has ended", "processes have ended")))
		}
	}
	if unowned > 0 {
		list = append(list, plural(unowned, "message waits for a consumer", "messages wait for consumers")+" of which no process is known")
	}
	if n := v.Steps[ledger.Parked]; n > 0 {
		atLeast := ""
		if n == ledger.MaxCount {
			atLeast = "at least "
		}
		list = append(list, atLeast+plural(n, "step needs", "steps need")+" a person: "+m.command("steps ls"))
	}
	for _, b := range v.Outboxes {
		list = append(list, m.boxWarnings(b, v.Consumers, subscribed)...)
	}
	return list
}

func waitingEvents(s outbox.Status) int64 { return s.Ready + s.Delayed + s.Behind }

// failingShown is how many groups the table shows.
const failingShown = 10

func (m *Main) printStatus(ctx context.Context, st openStore, v statusView) error {
	if m.json() {
		return m.emitJSON("", v)
	}
	if err := m.printHeadline(ctx, st); err != nil {
		return err
	}
	var rows [][]string
	section := func(title string, lines [][]string) {
		for _, line := range lines {
			rows = append(rows, append([]string{title}, line...))
			title = ""
		}
	}
	var failing, state, boxes, warn [][]string
	for _, g := range v.Failing[:min(len(v.Failing), failingShown)] {
		failing = append(failing, []string{
			short(text(g.ErrorFingerprint), 16), fmt.Sprintf("%s, %d open", stateOfGroup(g.Group), g.Count), "since " + m.began(g.Group), short(g.Consumer+"/"+g.Handler, 50), short(text(g.Sample), 60),
		})
	}
	if n := len(v.Failing) - failingShown; n > 0 {
		failing = append(failing, []string{plural(n, "more group", "more groups") + ": " + m.command("dlq groups")})
	}
	for _, c := range v.Consumers {
		state = append(state, []string{
			short(c.Consumer, 40), m.processes(c), pace(c.Rate, c.Median), c.waits(), fmt.Sprintf("%d dead", c.Dead),
		})
	}
	for _, w := range v.Warnings {
		warn = append(warn, []string{w})
	}
	section("FAILING", failing)
	if v.Cancelled > 0 {
		section("CANCELLED", [][]string{{plural(v.Cancelled, "message", "messages") + " by a person: " + m.command("dlq ls --class cancelled")}})
	}
	section("CONSUMERS", state)
	for _, s := range v.Outboxes {
		boxes = append(boxes, []string{
			short(s.Outbox, 40), plural(waitingEvents(s.Status), "event waits", "events wait") + ", oldest " + s.Oldest.Round(time.Millisecond).String(), fmt.Sprintf("%d parked", s.Parked),
			plural(s.Relays, "relay", "relays"),
		})
	}
	section("OUTBOX", boxes)
	section("SYSTEMS", pausedSystems(v.Systems))
	section("WARNINGS", warn)
	if len(rows) == 0 {
		err := m.line("nothing here yet: no consumer has run on this database; start one, and look again")
		m.next("status")
		return err
	}
	if err := m.table(nil, rows); err != nil {
		return err
	}
	if len(v.Failing) > 0 {
		return m.nextWhy(ctx, st, v.Failing[0].Group)
	}
	return nil
}

// processes says in words how many processes run a consumer, where, and of which builds.
func (m *Main) processes(c *consumerState) string {
	if c.Pause != nil {
		return fmt.Sprintf("paused by %s since %s: %s", c.Pause.By, m.since(c.Pause.At), short(text(c.Pause.Reason), 40))
	}
	if c.Processes == 0 {
		return "no process"
	}
	running := plural(c.Processes, "process", "processes")
	if len(c.Environments) > 0 {
		running += " in " + short(strings.Join(c.Environments, ", "), 40)
	}
	var builds []string
	for build, n := range c.Builds {
		name, several := "build "+short(text(build), 20), "with build "+short(text(build), 20)
		if build == "" {
			name, several = "build unknown", "with an unknown build"
		}
		if len(c.Builds) == 1 {
			return running + ", " + name
		}
		builds = append(builds, fmt.Sprintf("%d %s", n, several))
	}
	slices.Sort(builds)
	return running + ": " + strings.Join(builds, ", ")
}

// pace says how many messages are applied in a second, and how long a run takes.
func pace(rate float64, median time.Duration) string {
	if median == 0 {
		return pages.Rate(rate)
	}
	return pages.Rate(rate) + ", p50 " + pages.Took(median)
}
