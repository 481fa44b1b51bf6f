package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/migrate"
)

func (m *Main) backlogCommand() *cobra.Command {
	return m.parent("backlog", "look at messages that wait for their handler, retry or cancel them",
		m.backlogListCommand(), m.backlogGroupsCommand(), m.backlogShowCommand(), m.backlogRetryCommand(), m.backlogCancelCommand())
}

// rowView is a row of the backlog as JSON, without its payload.
type rowView struct {
	ID               int64                `json:"id"`
	Status           string               `json:"status"`
	Consumer         string               `json:"consumer"`
	Handler          string               `json:"handler"`
	Scope            string               `json:"scope"`
	Key              string               `json:"key,omitempty"` // none before its consumer has computed it
	OrderKey         string               `json:"order_key,omitempty"`
	Strict           bool                 `json:"strict,omitempty"`
	Fingerprint      string               `json:"fingerprint,omitempty"`
	MessageID        string               `json:"message_id,omitempty"`
	Topic            string               `json:"topic"`
	Coordinates      headrace.Coordinates `json:"coordinates,omitzero"`
	TraceParent      string               `json:"traceparent,omitempty"`
	Attempts         int                  `json:"attempts"` // that failed
	Due              time.Time            `json:"due,omitzero"`
	Ready            time.Time            `json:"ready_since,omitzero"`
	Postponed        time.Time            `json:"postponed_since,omitzero"`
	Reason           string               `json:"reason,omitempty"`
	Error            string               `json:"error,omitempty"`
	ErrorFingerprint string               `json:"error_fingerprint,omitempty"`
	PreviousID       int64                `json:"previous_id,omitempty"` // the dead letter that it was redriven from
	Redrives         int                  `json:"redrives,omitempty"`
}

func viewRow(r backlog.Row) rowView {
	d := r.Delivery
	v := rowView{
		ID: r.RowID, Status: r.Wait.Status, Consumer: r.Consumer, Handler: r.Handler, Scope: d.Scope, Key: d.Key, OrderKey: d.OrderKey,
		Strict: r.Strict, Fingerprint: d.Fingerprint, MessageID: d.ID, Topic: d.Topic, Coordinates: d.Coordinates, TraceParent: d.Trace.Parent,
		Attempts: max(d.Attempt-1, 0), Due: r.Wait.Due, Postponed: r.Wait.Postponed, Reason: r.Wait.Reason, Error: r.Error,
		ErrorFingerprint: r.ErrorFingerprint, PreviousID: r.LetterID, Redrives: r.Redrives,
	}
	if v.Status == "ready" || v.Status == "leasable" {
		v.Ready = r.Ready
	}
	return v
}

// lookTime bounds the search of backlog ls for rows that match.
const lookTime = 2 * time.Second

func (m *Main) backlogListCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "ls", Short: "list messages that wait, oldest first", Args: noArgs,
		Long: `Lists rows of the backlog by id. A ready row runs next. A delayed row runs when it is due. A blocked row
runs after an earlier message of its order key. A leasable row waits for a lease, and a leased row has one.
The search ends after two seconds and says where to continue.`,
	}
	f := addBacklogFilter(c)
	status := choice{of: []string{"ready", "delayed", "blocked", "leasable", "leased"}}
	c.Flags().Var(&status, "status", "only messages with this status: ready, delayed, blocked, leasable, leased")
	most := &limit{n: 50, most: listMost}
	c.Flags().Var(most, "limit", "how many to list")
	after := &limit{most: 1<<63 - 1}
	c.Flags().Var(after, "after", "go on above this id")
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		f.Status = status.value
		return m.withStore(ctx, func(st openStore) error {
			if err := wholeRowGroup(ctx, st, f); err != nil {
				return err
			}
			rows, next, err := listRows(ctx, st.Operations().Waiting, *f, int64(after.n), most.n)
			if err != nil {
				return err
			}
			if next != 0 {
				m.say("there may be more: --after %d", next)
			}
			if err := m.emitRows(rows); err != nil {
				return err
			}
			if len(rows) > 0 {
				m.next("backlog show %d", rows[0].RowID)
				return nil
			}
			return knownConsumer(ctx, st, f.Consumer, f.Handler)
		})
	})
	return c
}

func addBacklogFilter(c *cobra.Command) *backlog.Filter {
	f := &backlog.Filter{}
	c.Flags().StringVar(&f.Consumer, "consumer", "", "only messages of this consumer")
	c.Flags().StringVar(&f.Handler, "handler", "", "only messages of this handler")
	c.Flags().StringVar(&f.ErrorFingerprint, "group", "", "only the group with this `error-fingerprint` (see headrace backlog groups)")
	return f
}

// wholeRowGroup replaces the first digits of a group of messages that wait by all of them. Where no
// group begins with them, they stay.
func wholeRowGroup(ctx context.Context, st openStore, f *backlog.Filter) error {
	return wholeFingerprint(&f.ErrorFingerprint, func() (all []string, err error) {
		list, err := st.Operations().Waiting.Groups(ctx, backlog.Filter{Consumer: f.Consumer, Handler: f.Handler})
		for _, g := range list {
			all = append(all, g.ErrorFingerprint)
		}
		return all, err
	})
}

// listRows returns at most limit rows above after, and where to go on; 0 at the end.
func listRows(ctx context.Context, admin backlog.Admin, f backlog.Filter, after int64, limit int) (all []backlog.Row, next int64, err error) {
	for end := time.Now().Add(lookTime); ; {
		rows, next, err := admin.List(ctx, f, after, limit-len(all))
		if err != nil {
			return nil, 0, err
		}
		all = append(all, rows...)
		if next == 0 || len(all) == limit || time.Now().After(end) {
			return all, next, nil
		}
		after = next
	}
}

func (m *Main) emitRows(list []backlog.Row) error {
	views := make([]rowView, 0, len(list))
	var rows [][]string
	for _, r := range list {
		v := viewRow(r)
		views = append(views, v)
		rows = append(rows, []string{
			number(v.ID), v.Status, short(v.Consumer, 30), short(v.Handler, 30), short(text(v.Key), 40), strconv.Itoa(v.Attempts), m.when(v.Due),
			text(v.ErrorFingerprint), short(text(why(v)), 60),
		})
	}
	return m.emit("messages", views, []string{"ID", "STATUS", "CONSUMER", "HANDLER", "KEY", "ATTEMPTS", "DUE", "ERROR FINGERPRINT", "ERROR"}, rows)
}

// why returns why the message did not succeed in its latest run.
func why(v rowView) string {
	if v.Reason != "" {
		return v.Reason
	}
	return v.Error
}

// rowGroupView is a group as JSON.
type rowGroupView struct {
	ErrorFingerprint string    `json:"error_fingerprint"`
	Consumer         string    `json:"consumer"`
	Handler          string    `json:"handler"`
	Count            int64     `json:"count"`
	More             bool      `json:"more,omitempty"` // than were counted
	Due              time.Time `json:"due,omitzero"`
	SampleID         int64     `json:"id"`
	Error            string    `json:"error"`
}

func (m *Main) backlogGroupsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "groups", Short: "list why messages that wait have failed, most frequent first", Args: noArgs,
		Long: fmt.Sprintf(`Groups the messages that wait for a retry by handler and error fingerprint, so you see failures before
they become dead letters. It shows at most %d error fingerprints and counts at most %d messages, shared
equally between them: 30+ means at least 30. With --group it counts the messages of one.`, backlog.MaxGroups, backlog.MaxCounted),
	}
	f := addBacklogFilter(c)
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		return m.withStore(ctx, func(st openStore) error {
			if err := wholeRowGroup(ctx, st, f); err != nil {
				return err
			}
			groups, err := st.Operations().Waiting.Groups(ctx, *f)
			if err != nil {
				return err
			}
			views := make([]rowGroupView, 0, len(groups))
			var rows [][]string
			for _, g := range groups {
				v := rowGroupView(g)
				views = append(views, v)
				count := number(v.Count)
				if v.More {
					count += "+"
				}
				rows = append(rows, []string{v.ErrorFingerprint, count, short(v.Consumer, 30), short(v.Handler, 30), m.when(v.Due), number(v.SampleID), short(text(v.Error), 60)})
			}
			if err := m.emit("groups", views, []string{"ERROR FINGERPRINT", "COUNT", "CONSUMER", "HANDLER", "DUE", "ID", "ERROR"}, rows); err != nil {
				return err
			}
			if len(groups) > 0 {
				m.next("backlog ls%s --group %s", chosen(dlq.Filter{Consumer: groups[0].Consumer, Handler: groups[0].Handler}), groups[0].ErrorFingerprint)
				return nil
			}
			if err := knownConsumer(ctx, st, f.Consumer, f.Handler); err != nil || f.ErrorFingerprint == "" {
				return err
			}
			m.say("no message waits after such a failure")
			return errFound
		})
	})
	return c
}

// rowDetailView is a row with everything recorded about its message.
type rowDetailView struct {
	rowView
	Runs  []attemptView `json:"runs"`
	Steps []stepView    `json:"steps,omitempty"`
	bodyView
}

// addRuns adds the attempts of the message, and its steps.
func (v *rowDetailView) addRuns(ctx context.Context, st openStore, id inbox.ID) error {
	attempts, err := st.Inbox().Attempts(ctx, id)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		v.Runs = append(v.Runs, viewAttempt(a))
	}
	v.Steps, err = stepsOf(ctx, st, id)
	return err
}

func (m *Main) backlogShowCommand() *cobra.Command {
	c := &cobra.Command{Use: "show ID", Short: "show a message that waits, with its attempts and steps", Args: one("ID")}
	shown := addContent(c, "the payload and the values of the headers")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		id, ok := parseID(args[0])
		if !ok {
			return fmt.Errorf("%w; headrace inbox show KEY finds a message by its key", notID(args[0]))
		}
		eyes := m.eyes(shown)
		return m.withStore(ctx, func(st openStore) error {
			r, err := st.Operations().Waiting.Get(ctx, id)
			if errors.Is(err, backlog.ErrNotFound) {
				m.refused = true
				m.next("backlog ls")
				return fmt.Errorf("no message waits under the id %d: it was handled or given up, or never waited; headrace inbox show KEY finds it", id)
			}
			if err != nil {
				return err
			}
			v := rowDetailView{rowView: viewRow(r), Runs: []attemptView{}, bodyView: viewBody(r.Delivery, shown.any())}
			eyes.body(&v.bodyView)
			if r.Delivery.Key != "" {
				if err := v.addRuns(ctx, st, inbox.ID{Scope: r.Delivery.Scope, Key: r.Delivery.Key}); err != nil {
					return fmt.Errorf("show message: %w", err)
				}
			}
			if m.json() {
				return m.emitJSON("", v)
			}
			if err := m.printRow(v); err != nil || v.Key == "" {
				return err
			}
			if v.Status == "delayed" {
				m.next("backlog retry%s -- %s", chosen(dlq.Filter{Consumer: v.Consumer, Handler: v.Handler}), migrate.Quote(v.Key))
			} else {
				m.next("inbox show -- %s", migrate.Quote(v.Key))
			}
			return nil
		})
	})
	return c
}

// printRow prints a row for people.
func (m *Main) printRow(v rowDetailView) error {
	status := v.Status
	switch {
	case !v.Due.IsZero() && v.Status == "leased":
		status += " until " + when(v.Due)
	case !v.Due.IsZero():
		status += ", due " + m.when(v.Due)
	case !v.Ready.IsZero():
		status += " since " + m.since(v.Ready)
	}
	rows := [][]string{
		{"message", fmt.Sprintf("%d, %s", v.ID, status)}, {"consumer", v.Consumer}, {"handler", v.Handler},
		{"key", text(v.Key)}, {"order key", text(v.OrderKey)}, {"message id", text(v.MessageID)}, {"topic", text(v.Topic)},
		{"coordinates", text(v.Coordinates.String())}, {"fingerprint", text(v.Fingerprint)}, {"attempts", strconv.Itoa(v.Attempts)},
	}
	if !v.Postponed.IsZero() {
		rows = append(rows, []string{"postponed", m.when(v.Postponed)})
	}
	if v.Reason != "" {
		rows = append(rows, []string{"reason", v.Reason})
	}
	if v.PreviousID != 0 {
		rows = append(rows, []string{"redriven before", fmt.Sprintf("%s, the last time from dead letter %d", plural(v.Redrives, "time", "times"), v.PreviousID)})
	}
	rows = append(rows, []string{"error fingerprint", text(v.ErrorFingerprint)}, []string{"error", text(v.Error)})
	rows = append(rows, contentRows(v.bodyView)...)
	if err := m.table(nil, rows); err != nil {
		return err
	}
	if err := m.section("attempts", m.attemptLines(v.Runs)); err != nil {
		return err
	}
	if err := m.printStepsOf(v.Key, v.Steps); err != nil {
		return err
	}
	return m.printBody(v.bodyView)
}
