package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/outbox"
)

func (m *Main) outboxCommand() *cobra.Command {
	return m.parent("outbox", "look at events that wait to be published", m.outboxStatusCommand(), m.parkedCommand(), m.unparkCommand(), m.outboxLocalCommand())
}

func (m *Main) outboxStatusCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "count the events, show how long the oldest has waited, and who publishes", Args: noArgs,
		Long: `Counts the events of each outbox. READY events can be published now. DELAYED events are delayed, or were
refused and are tried again later. PARKED events were refused too often and wait for headrace outbox unpark.
BEHIND events wait behind one of those. OLDEST is the age of the oldest ready event; if no relay runs, of the
oldest event that is due or was refused. RELAYS processes publish the outbox to SINK. WAITING processes have
another sink and wait until those have ended. Only the OWNERS may publish it: the consumers that did
first, and those with their sink.`,
	}
	name := outboxFlag(c)
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		return m.withStore(ctx, func(st openStore) error {
			list, err := ownedBoxes(ctx, st, *name)
			if err != nil {
				return fmt.Errorf("outbox status: %w", err)
			}
			var rows [][]string
			for _, s := range list {
				rows = append(rows, []string{
					short(s.Outbox, 40), number(s.Ready), number(s.Delayed), number(s.Parked), number(s.Behind),
					s.Oldest.Round(time.Millisecond).String(), number(s.Relays), short(text(s.Sink), 60), number(s.Waiting), short(text(strings.Join(s.Owners, ", ")), 60),
				})
			}
			if err := m.emit("outboxes", list, []string{"OUTBOX", "READY", "DELAYED", "PARKED", "BEHIND", "OLDEST", "RELAYS", "SINK", "WAITING", "OWNERS"}, rows); err != nil {
				return err
			}
			if len(list) == 0 {
				return knownBox(ctx, st, *name)
			}
			if m.flags.format.value != "table" {
				return nil
			}
			var waiting []string
			for _, b := range list {
				if _, line := outbox.ConsumerOf(b.Outbox); !line {
					waiting = append(waiting, m.unpublishedWarnings(b)...)
				}
			}
			if i := slices.IndexFunc(list, func(b boxView) bool { return b.Parked > 0 }); i >= 0 {
				defer m.next("outbox parked --outbox %s", migrate.Quote(list[i].Outbox))
			}
			return m.section("WAITING FOR A PUBLISHER", waiting)
		})
	})
	return c
}

// ownedBoxes returns boxes with their owners, and those that hold nothing now.
func ownedBoxes(ctx context.Context, st openStore, name string) ([]boxView, error) {
	list, err := boxes(ctx, st, name)
	if err != nil {
		return nil, err
	}
	owners, err := st.Operations().Relays.Owners(ctx, name)
	for _, o := range owners {
		i := slices.IndexFunc(list, func(b boxView) bool { return b.Outbox == o.Outbox })
		if i < 0 {
			i, list = len(list), append(list, boxView{Status: outbox.Status{Outbox: o.Outbox}})
		}
		list[i].Owners = append(list[i].Owners, o.Consumer)
	}
	slices.SortFunc(list, func(a, b boxView) int { return strings.Compare(a.Outbox, b.Outbox) })
	return list, err
}

// outboxFlag adds the flag that chooses an outbox.
func outboxFlag(c *cobra.Command) *string {
	return c.Flags().String("outbox", "", "only this outbox (default: all)")
}

// parkedView is a parked row as JSON, without its payload.
type parkedView struct {
	Outbox   string        `json:"outbox"`
	Row      int64         `json:"row"`
	EventID  string        `json:"event_id"`
	Topic    string        `json:"topic"`
	OrderKey string        `json:"order_key,omitempty"`
	Attempts int           `json:"attempts"`
	Age      time.Duration `json:"age_ns"`
	Error    string        `json:"error"`
}

func (m *Main) parkedCommand() *cobra.Command {
	c := &cobra.Command{Use: "parked", Short: "list events that the broker refuses, oldest first", Args: noArgs}
	most := &limit{n: 50, most: listMost}
	c.Flags().Var(most, "limit", "how many to list")
	after := &limit{most: 1<<63 - 1}
	c.Flags().Var(after, "after", "go on above this row")
	name := outboxFlag(c)
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		return m.withStore(ctx, func(st openStore) error {
			held, err := st.Outbox().Parked(ctx, *name, int64(after.n), most.n+1)
			if err != nil {
				return fmt.Errorf("list parked events: %w", err)
			}
			if len(held) > most.n {
				held = held[:most.n]
				m.say("there are more: --after %d", held[most.n-1].RowID)
			}
			if err := m.emitParked(held); err != nil {
				return err
			}
			if len(held) > 0 {
				m.next("outbox unpark %d", held[0].RowID)
				return nil
			}
			return knownBox(ctx, st, *name)
		})
	})
	return c
}

func (m *Main) emitParked(held []outbox.HeldRow) error {
	views := make([]parkedView, 0, len(held))
	var rows [][]string
	for _, h := range held {
		v := parkedView{
			Outbox: h.Outbox, Row: h.RowID, EventID: h.Event.ID, Topic: h.Event.Topic, OrderKey: h.Event.OrderKey,
			Attempts: h.Attempts, Age: h.Age, Error: h.Error,
		}
		views = append(views, v)
		rows = append(rows, []string{
			short(v.Outbox, 40), number(v.Row), short(v.EventID, 40), short(v.Topic, 40), short(text(v.OrderKey), 30),
			strconv.Itoa(v.Attempts), v.Age.Round(time.Second).String(), short(text(v.Error), 60),
		})
	}
	return m.emit("events", views, []string{"OUTBOX", "ROW", "EVENT ID", "TOPIC", "ORDER KEY", "ATTEMPTS", "AGE", "ERROR"}, rows)
}

// unparkPage is how many rows one statement names.
const unparkPage = 500

func (m *Main) unparkCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "unpark [ROW... | -]", Short: "publish parked events again",
		Long: `Makes parked events due, and resets their attempts. Name the rows, or give --all; - reads them
from stdin, one a line. Exit status 1 if rows are named and none is parked.`,
	}
	all := c.Flags().Bool("all", false, "every parked event")
	name := outboxFlag(c)
	var yes bool
	yesFlag(c, &yes)
	m.writes(c)
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if (len(args) > 0) == *all {
			return usagef("unpark: which rows? name them, or give --all, and not both")
		}
		rows, err := m.askFor(args, yes)
		if err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error {
			if err := knownBox(ctx, st, *name); err != nil {
				return err
			}
			return m.unpark(ctx, st.Outbox(), *name, rows, yes)
		})
	})
	return c
}

func (m *Main) unpark(ctx context.Context, box outbox.Admin, name string, rows []int64, yes bool) error {
	n, which := int64(len(rows)), plural(len(rows), "event", "events")+" ("+listed(rows)+")"
	if rows == nil {
		list, err := box.List(ctx, name)
		if err != nil {
			return fmt.Errorf("unpark: %w", err)
		}
		for _, s := range list {
			n += s.Parked
		}
		yes = yes || n == 0 // there is nothing to ask about
		which = plural(n, "parked event", "parked events")
		if name != "" {
			which += " of the outbox " + short(name, 40)
		}
	}
	if err := m.would(n, "publish %s again", which); err != nil {
		return err
	}
	if err := m.confirm(yes, "publish %s again?", which); err != nil {
		return err
	}
	done, err := unparkPages(ctx, box, name, rows)
	view := struct {
		Unparked int `json:"unparked"`
		Skipped  int `json:"skipped"`
	}{Unparked: done}
	if rows != nil {
		view.Skipped = len(rows) - done
	}
	printed := m.emit("", view, nil, [][]string{{plural(done, "event is due", "events are due")}})
	switch {
	case err != nil && done > 0:
		m.say("unpark: ended early: %v", err)
		return errIncomplete
	case err != nil:
		return fmt.Errorf("unpark: %w", err)
	case printed != nil:
		return printed
	case view.Skipped > 0 && done == 0:
		m.say("nothing was done: no row with such an id is parked")
		return errFound
	case view.Skipped > 0:
		m.say("%s not parked", plural(view.Skipped, "row is", "rows are"))
		return errIncomplete
	}
	m.next("outbox status")
	return nil
}

func unparkPages(ctx context.Context, box outbox.Admin, name string, rows []int64) (int, error) {
	if rows == nil {
		return box.Unpark(ctx, name, nil)
	}
	done := 0
	for page := range slices.Chunk(rows, unparkPage) {
		n, err := box.Unpark(ctx, name, page)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
