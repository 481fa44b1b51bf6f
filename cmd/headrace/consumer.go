package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/migrate"
)

func (m *Main) consumerCommand() *cobra.Command {
	return m.parent("consumer", "look at consumers, pause and resume them", m.consumerListCommand(), m.pauseCommand(), m.resumeCommand())
}

// consumerView is a consumer as JSON.
type consumerView struct {
	Consumer  string         `json:"consumer"`
	Paused    bool           `json:"paused"`
	Pause     *pauseView     `json:"last_pause,omitempty"`
	Instances []instanceView `json:"instances"`

	work instance.Work // of all that run
}

type pauseView struct {
	By        string    `json:"by"`
	Reason    string    `json:"reason,omitempty"`
	At        time.Time `json:"at"`
	ResumedBy string    `json:"resumed_by,omitempty"`
	Resumed   time.Time `json:"resumed,omitzero"`
}

type instanceView struct {
	ID    string `json:"id"`
	Host  string `json:"host"`
	Build string `json:"build"`
	Env   string `json:"environment,omitempty"`
	// Handlers are the names of its handlers.
	Handlers []string  `json:"handlers,omitempty"`
	Started  time.Time `json:"started_at"`
	Beat     time.Time `json:"last_beat"`
	State    string    `json:"state"` // running, dead or ended
	// Rate is how many messages it applied in a second, and Median how long a run of a handler took, lately.
	Rate   float64       `json:"per_second"`
	Median time.Duration `json:"p50_ns"`
	Ended  time.Time     `json:"ended_at,omitzero"`
}

func (m *Main) consumerListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls [CONSUMER]", Short: "list consumers, their processes, and who paused them", Args: mostOne("CONSUMER"),
		RunE: m.do(func(ctx context.Context, args []string) error {
			return m.withStore(ctx, func(st openStore) error {
				views, err := consumers(ctx, st, append(args, "")[0])
				if err != nil {
					return err
				}
				if err := m.printConsumers(views); err != nil {
					return err
				}
				if i := slices.IndexFunc(views, func(v *consumerView) bool { return v.Paused }); i >= 0 {
					m.next("consumer resume %s", migrate.Quote(views[i].Consumer))
				} else if len(views) > 0 {
					m.next("status")
				}
				if len(views) > 0 || len(args) == 0 {
					return nil
				}
				if err := knownConsumer(ctx, st, args[0], ""); err != nil {
					return err
				}
				m.say("no process and no pause of %q is known", args[0])
				return errFound
			})
		}),
	}
}

// consumers returns the state of each consumer, or of the one called only.
func consumers(ctx context.Context, st openStore, only string) ([]*consumerView, error) {
	instances, err := st.Operations().Instances.List(ctx, only)
	if err != nil {
		return nil, err
	}
	pauses, err := st.Operations().Pauses.List(ctx)
	if err != nil {
		return nil, err
	}
	views := []*consumerView{}
	of := func(name string) *consumerView {
		for _, v := range views {
			if v.Consumer == name {
				return v
			}
		}
		views = append(views, &consumerView{Consumer: name, Instances: []instanceView{}})
		return views[len(views)-1]
	}
	for _, p := range pauses {
		if only != "" && p.Consumer != only {
			continue
		}
		v := of(p.Consumer)
		v.Paused = p.Lasts()
		v.Pause = &pauseView{By: p.By, Reason: p.Reason, At: p.At, ResumedBy: p.ResumedBy, Resumed: p.Resumed}
	}
	own := make(map[string][]instance.Instance)
	for _, i := range instances {
		own[i.Consumer] = append(own[i.Consumer], i)
		state := "running"
		if i.Dead(instance.Missed) {
			state = "dead"
		} else if !i.Ended.IsZero() {
			state = "ended"
		}
		v := of(i.Consumer)
		v.Instances = append(v.Instances, instanceView{
			ID: i.ID, Host: i.Host, Build: i.Build, Env: i.Environment, Handlers: i.Handlers, Started: i.Started, Beat: i.Beat, State: state, Ended: i.Ended,
			Rate: i.Rate, Median: i.Median,
		})
	}
	for _, v := range views {
		v.work = instance.WorkOf(own[v.Consumer])
	}
	slices.SortFunc(views, func(a, b *consumerView) int {
		if a.Consumer < b.Consumer {
			return -1
		}
		return 1
	})
	return views, nil
}

func (m *Main) printConsumers(views []*consumerView) error {
	var rows [][]string
	for _, v := range views {
		paused := "-"
		if v.Paused {
			paused = fmt.Sprintf("by %s, %s, %s", v.Pause.By, m.when(v.Pause.At), text(v.Pause.Reason))
		}
		if len(v.Instances) == 0 {
			rows = append(rows, []string{short(v.Consumer, 40), "-", "-", "-", "-", "-", "-", short(paused, 80)})
		}
		for _, i := range v.Instances {
			rows = append(rows, []string{
				short(v.Consumer, 40), i.State, short(text(i.Host), 30), short(text(i.Build), 20), short(text(i.Env), 20), m.when(i.Started), m.when(i.Beat), short(paused, 80),
			})
		}
	}
	return m.emit("consumers", views, []string{"CONSUMER", "STATE", "HOST", "BUILD", "ENVIRONMENT", "STARTED", "LAST BEAT", "PAUSED"}, rows)
}

func (m *Main) pauseCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "pause CONSUMER", Short: "stop all processes of a consumer from taking messages", Args: one("CONSUMER"),
		Long: `Marks the consumer as paused. Within about two seconds its processes stop reading their source
and the backlog; they finish the messages that they have, and go on publishing events. The mark
also holds for processes that start later, until headrace consumer resume.

Exit status 5 if no consumer of this name is known.`,
		Example: "  headrace consumer pause billing --reason 'the bank is down'",
	}
	by := m.writes(c).Flags().String("by", "", "who pauses it (default: your user name)")
	reason := c.Flags().String("reason", "", "why, for people who find it paused")
	anyway := c.Flags().Bool("anyway", false, "also if no consumer of this name is known")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		return m.withStore(ctx, func(st openStore) error {
			if err := instance.CheckConsumer(args[0]); err != nil {
				return usagef("%v", err)
			}
			if !*anyway {
				if err := mayPause(ctx, st, args[0]); err != nil {
					return err
				}
			}
			first, err := m.pause(ctx, st, instance.Pause{Consumer: args[0], By: *by, Reason: *reason})
			if err != nil {
				return err
			}
			if err := m.unknownConsumer(ctx, st, args[0]); err != nil {
				return err
			}
			err = m.emit("", map[string]any{"consumer": args[0], "paused": first}, nil, [][]string{{args[0] + " is paused"}})
			m.next("consumer resume %s", migrate.Quote(args[0]))
			return err
		})
	})
	return c
}

// pause pauses a consumer, and reports whether it was not paused before.
func (m *Main) pause(ctx context.Context, st openStore, p instance.Pause) (first bool, err error) {
	pauses := st.Operations().Pauses
	if m.dryRun {
		if now, err := pauses.Get(ctx, p.Consumer); err != nil {
			return false, err
		} else if now.Lasts() {
			return false, m.would(0, "leave %s as it is: paused by %s, %s", p.Consumer, now.By, m.when(now.At))
		}
	}
	if err := m.wouldConsumer(ctx, st, "pause", p.Consumer); err != nil {
		return false, err
	}
	if p.By, err = signed(ctx, st, p.By); err != nil {
		return false, err
	}
	first, err = pauses.Pause(ctx, p)
	if errors.Is(err, instance.ErrInvalid) {
		return false, usagef("%v", err)
	}
	if err == nil && !first {
		now, err := pauses.Get(ctx, p.Consumer)
		if err != nil {
			return false, err
		}
		m.say("it was paused already, by %s, %s", now.By, m.when(now.At))
	}
	return first, err
}

func (m *Main) resumeCommand() *cobra.Command {
	c := &cobra.Command{Use: "resume CONSUMER", Short: "end the pause of a consumer", Args: one("CONSUMER")}
	by := m.writes(c).Flags().String("by", "", "who resumes it (default: your user name)")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		return m.withStore(ctx, func(st openStore) error {
			if m.dryRun {
				if p, err := st.Operations().Pauses.Get(ctx, args[0]); err != nil {
					return err
				} else if !p.Lasts() {
					return m.notPaused(ctx, st, args[0])
				}
			}
			if err := m.wouldConsumer(ctx, st, "resume", args[0]); err != nil {
				return err
			}
			name, err := signed(ctx, st, *by)
			if err != nil {
				return err
			}
			was, err := st.Operations().Pauses.Resume(ctx, args[0], name)
			if err != nil {
				return err
			}
			if !was {
				return m.notPaused(ctx, st, args[0])
			}
			err = m.emit("", map[string]any{"consumer": args[0], "resumed": true}, nil, [][]string{{args[0] + " is resumed"}})
			m.next("consumer ls %s", migrate.Quote(args[0]))
			return err
		})
	})
	return c
}

// notPaused is the end of a resume of a consumer that is not paused.
func (m *Main) notPaused(ctx context.Context, st openStore, name string) error {
	if err := knownConsumer(ctx, st, name, ""); err != nil {
		return err
	}
	m.say("it was not paused")
	return errFound
}

// mayPause refuses to pause a consumer that is not known.
func mayPause(ctx context.Context, st openStore, name string) error {
	err := knownConsumer(ctx, st, name, "")
	if unknown, ok := errors.AsType[*unknownName](err); ok {
		return fmt.Errorf("%w: %v. If it is still to start for the first time, add --anyway", errRefused, unknown)
	}
	return err
}

// wouldConsumer is would for the processes of a consumer.
func (m *Main) wouldConsumer(ctx context.Context, st openStore, does, name string) error {
	list, err := st.Operations().Instances.List(ctx, name)
	if err != nil {
		return err
	}
	n := int64(len(slices.DeleteFunc(list, func(i instance.Instance) bool { return !i.Alive() })))
	return m.would(n, "%s %s, of which %s", does, name, plural(n, "process runs", "processes run"))
}

// signed returns by with the login of the database, as in "bo as operator_login": for what this command writes itself,
// so that nobody can act under the name of another. Requests get the login from the process that takes them.
func signed(ctx context.Context, st openStore, by string) (string, error) {
	by = operator(by)
	database, ok := st.Store.(interface {
		Login(ctx context.Context) (string, error)
	})
	if !ok {
		return by, nil
	}
	login, err := database.Login(ctx)
	if err != nil || login == by {
		return by, err
	}
	return short(by, 120) + " as " + login, nil
}

func operator(by string) string {
	if by == "" {
		return userName()
	}
	return by
}

// unknownConsumer prints a note if no process of the consumer is known: it may start
// later, or the name is wrong.
func (m *Main) unknownConsumer(ctx context.Context, st openStore, name string) error {
	instances, err := st.Operations().Instances.List(ctx, name)
	if err == nil && len(instances) == 0 {
		m.say("no instance of %q is known: the mark holds for those that start later", name)
	}
	return err
}
