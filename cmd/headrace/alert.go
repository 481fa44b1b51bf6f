package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/watching"
)

func (m *Main) alertCommand() *cobra.Command {
	var all bool
	ls := &cobra.Command{
		Use: "ls", Short: "list what fires, since when, and what each sink got", Args: noArgs,
		RunE: m.do(func(ctx context.Context, _ []string) error {
			return m.withStore(ctx, func(st openStore) error { return m.listAlerts(ctx, st, all) })
		}),
	}
	ls.Flags().BoolVar(&all, "all", false, "also what is pending, and what was resolved in the last 35 days")
	try := &cobra.Command{
		Use: "test CONSUMER", Short: "send a test through each sink of a consumer's process", Args: cobra.ExactArgs(1),
		RunE: m.do(func(ctx context.Context, args []string) error {
			return m.withStore(ctx, func(st openStore) error { return m.testAlerts(ctx, st, args[0]) })
		}),
	}
	return m.parent("alert", "see what fires, and try the sinks", ls, try)
}

// alertView is a condition as JSON.
type alertView struct {
	alerts.Alert
	State condition.State `json:"state"`
	Ended time.Time       `json:"ended_at,omitzero"`
	// Quiet is since when nothing is wrong, while it still fires: it ends when that has lasted.
	Quiet    time.Time  `json:"quiet_since,omitzero"`
	Instance string     `json:"instance,omitempty"` // that reports it
	Known    bool       `json:"known"`              // a person deals with it
	Silent   bool       `json:"unjudged"`           // no process judges whether it still fires
	Judged   time.Time  `json:"judged_at,omitzero"` // if so: when the last one did
	Sinks    []sinkView `json:"sinks"`
}

// sinkView is what a sink got.
type sinkView struct {
	Sink  string `json:"sink"`
	Got   string `json:"got"` // firing, again, resolved; empty for nothing
	Error string `json:"error,omitempty"`
	Lost  int64  `json:"lost"`
}

func (m *Main) listAlerts(ctx context.Context, st openStore, all bool) error {
	list, err := st.Operations().Conditions.List(ctx, "", true)
	if err != nil {
		return err
	}
	sends, err := st.Operations().Conditions.Sends(ctx, "", "", true)
	if err != nil {
		return err
	}
	judges, err := inspect.ReadJudges(ctx, st)
	if err != nil {
		return err
	}
	views, rows := []alertView{}, [][]string{}
	silent := make(map[string]time.Time) // by consumer
	for _, c := range list {
		if c.State != condition.Firing && !all {
			continue
		}
		v := alertView{Alert: c.Alert, State: c.State, Ended: c.Ended.UTC(), Instance: c.Instance, Known: c.Known, Sinks: []sinkView{}}
		v.Since = v.Since.UTC()
		state := string(c.State)
		if c.State == condition.Firing && !c.Quiet.IsZero() {
			v.Quiet = c.Quiet.UTC()
			state += ", over since " + when(c.Quiet)
		}
		if c.Kind == alerts.GroupFailing && c.ErrorFingerprint != "" {
			words, err := groupWords(ctx, st, groups.ID{Consumer: c.Consumer, Handler: c.Handler, ErrorFingerprint: c.ErrorFingerprint})
			if err != nil {
				return err
			}
			v.Command = "headrace dlq why " + words
		}
		if v.Judged, v.Silent = judges.Silent(c); v.Silent {
			v.Judged = v.Judged.UTC()
			silent[c.Namespace] = v.Judged
		}
		for _, s := range sends {
			if s.Key == c.Key {
				v.Sinks = append(v.Sinks, sinkView{s.Sink, string(s.Phase), s.Error, s.Lost})
			}
		}
		views = append(views, v)
		rows = append(rows, []string{state, string(c.Severity), string(c.Kind), when(c.Since), short(text(c.Title), 70), text(sinksGot(v.Sinks)), v.Command})
	}
	for _, consumer := range slices.Sorted(maps.Keys(silent)) {
		since := ""
		if at := silent[consumer]; !at.IsZero() {
			since = " since " + when(at)
		}
		m.say("no process of %s judges its alerts%s: they stand as they were", text(consumer), since)
	}
	if i := slices.IndexFunc(views, func(v alertView) bool { return v.State == condition.Firing && v.Quiet.IsZero() && v.Command != "" }); i >= 0 {
		defer m.next("%s", strings.TrimPrefix(views[i].Command, "headrace "))
	}
	return m.emit("alerts", views, []string{"STATE", "SEVERITY", "KIND", "SINCE", "WHAT", "SINKS GOT", "NEXT"}, rows)
}

// sinksGot says what sinks got, in the width of a cell: of many it counts them, and says why the first of those that fail does.
func sinksGot(list []sinkView) string {
	const width = 60
	all, failing := make([]string, len(list)), []string{}
	for i, s := range list {
		kind, reason, _ := strings.Cut(s.Error, ": ") // an error begins with the kind of its sink
		if !strings.HasPrefix(s.Sink, kind) {
			reason = s.Error
		}
		all[i] = s.Sink + ": " + cmp.Or(reason, s.Error, s.Got)
		if s.Error != "" {
			failing = append(failing, all[i])
		}
	}
	says := strings.Join(all, ", ")
	if len(list) < 2 || len(says) <= width {
		return short(says, width)
	}
	says = fmt.Sprintf("%d sinks", len(list))
	if len(failing) == 0 {
		return says + ": -o json lists them"
	}
	return short(fmt.Sprintf("%s, %d failing: %s", says, len(failing), failing[0]), width)
}

func (m *Main) testAlerts(ctx context.Context, st openStore, consumer string) error {
	if err := knownConsumer(ctx, st, consumer, ""); err != nil {
		return err
	}
	answer, err := ask[[]watching.Tested](ctx, m, st, instance.Request{Kind: watching.TestKind, Consumer: consumer}, struct{}{}, instance.Valid)
	if err != nil {
		return fmt.Errorf("alert test: %w", err)
	}
	var rows [][]string
	failed := false
	for _, a := range answer {
		failed = failed || a.Firing+a.Resolved != ""
		rows = append(rows, []string{a.Sink, text(cmp.Or(a.Firing, "taken")), text(cmp.Or(a.Resolved, "taken"))})
	}
	if err := m.emit("sinks", answer, []string{"SINK", "FIRING", "RESOLVED"}, rows); err != nil {
		return err
	}
	m.next("alert ls")
	if failed {
		return errIncomplete
	}
	return nil
}
