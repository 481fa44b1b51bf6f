package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/redriving"
)

// jobLetters are those of the redrives that are followed to their end: a tenth has the reason.
const jobLetters = 200_000

var jobFixture = &fixture{
	name: "dead letters to redrive", rows: func(*lab) int { return jobLetters }, times: lettersOfEach, fill: lettersFixture.fill,
}

// redrivePart measures redrives as jobs: the plan beside one statement that lists the same letters,
// and the job beside a redrive without one.
func redrivePart() []benchmark {
	return []benchmark{
		{
			part: "redrive", name: "plan_byhand", says: "one INSERT … SELECT of the 100k of 1M dead letters with one reason into the list of a redrive; letters a second",
			fixture: lettersFixture, run: runPlanByHand,
		},
		{
			part: "redrive", name: "plan", says: "a plan of the same letters, in batches, with its checks; letters a second", against: []string{"plan_byhand"},
			with: []string{"plan_byhand"}, fixture: lettersFixture, run: runPlan,
		},
		{
			part: "redrive", name: "redrive_direct", fixture: jobFixture, run: runRedriven((*lab).throughAdmin),
			says: "redrive of 20k dead letters without a job, by the Go API, until their handler has applied all; letters a second",
		},
		{
			part: "redrive", name: "redrive_process", against: []string{"redrive_direct"}, with: []string{"redrive_direct"}, fixture: jobFixture,
			says: "the same by the Go API in a process of its own, with its start; letters a second", run: runRedriven((*lab).throughProcess),
		},
		{
			part: "redrive", name: "redrive_command", against: []string{"redrive_process"}, with: []string{"redrive_process"}, fixture: jobFixture,
			says: "the same by headrace dlq redrive --direct; letters a second", run: runRedriven((*lab).throughCommand),
		},
		{
			part: "redrive", name: "redrive_job", against: []string{"redrive_direct"}, with: []string{"redrive_direct"}, fixture: jobFixture, run: runRedriven((*lab).throughJob),
			says: "the same as a job in stages, until each letter has its outcome; letters a second",
		},
	}
}

// reason is the one of the first tenth of the letters.
func (l *lab) reason(ctx context.Context) (f dlq.Filter, err error) {
	f.Consumer = "billing"
	return f, l.db.QueryRowContext(ctx, l.query("letters_reason")).Scan(&f.ErrorFingerprint)
}

func runPlanByHand(ctx context.Context, l *lab, a amount) (Figure, error) {
	f, err := l.reason(ctx)
	if err != nil {
		return Figure{}, err
	}
	watch := l.startWatch(ctx)
	done, err := l.db.ExecContext(ctx, l.query("letters_plan"), f.ErrorFingerprint)
	if err != nil {
		return Figure{}, err
	}
	n, err := done.RowsAffected()
	if want := a.or(100_000); err == nil && n != int64(want) {
		err = fmt.Errorf("verify: %d letters were listed, want %d", n, want)
	}
	figure := watch.figure(ctx, int(n), &histogram{})
	_, failed := l.db.ExecContext(ctx, l.query("letters_unplan"))
	return figure, errors.Join(err, failed)
}

func runPlan(ctx context.Context, l *lab, a amount) (figure Figure, err error) {
	st, err := l.openStore(ctx)
	if err != nil {
		return Figure{}, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	f, err := l.reason(ctx)
	if err != nil {
		return Figure{}, err
	}
	engine := &redriving.Engine{Store: st, Consumer: f.Consumer, Logger: l.config.Logger}
	watch := l.startWatch(ctx)
	r, err := engine.Plan(ctx, redriving.Plan{Kind: job.Redriving, Filter: f, Options: job.DefaultOptions()}, "bench")
	if err != nil {
		return Figure{}, err
	}
	figure = watch.figure(ctx, int(r.Count), &histogram{})
	if want := a.or(100_000); r.Count != int64(want) {
		return Figure{}, fmt.Errorf("verify: %d letters were planned, want %d", r.Count, want)
	}
	_, err = l.db.ExecContext(ctx, l.query("letters_unplan"))
	return figure, err
}

// runRedriven redrives the letters of one reason while their consumer runs, and waits for the end.
func runRedriven(through func(*lab, context.Context, opened, *consumer.Consumer, dlq.Filter, int) (Figure, error)) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (figure Figure, err error) {
		st, err := l.openStore(ctx)
		if err != nil {
			return Figure{}, err
		}
		defer func() { err = errors.Join(err, st.Close()) }()
		l.stands = "" // from now on
		f, err := l.reason(ctx)
		if err != nil {
			return Figure{}, err
		}
		c, err := consumer.New(f.Consumer, st, consumer.Config{
			Source: gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{}), Key: inbox.MessageID(), Build: "v2", Logger: l.config.Logger,
		})
		if err != nil {
			return Figure{}, err
		}
		consumer.Handle(c, "orders_paid", func(context.Context, *headrace.Tx, *headrace.Message[map[string]any]) error { return nil })
		running, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- c.Run(running) }()
		figure, err = through(l, ctx, st, c, f, a.or(jobLetters/lettersOfEach))
		stop()
		if err := errors.Join(err, <-ended); err != nil {
			return Figure{}, err
		}
		return figure, check(ctx, st)
	}
}

// throughAdmin redrives without a job, and waits until all are applied.
func (l *lab) throughAdmin(ctx context.Context, st opened, c *consumer.Consumer, f dlq.Filter, want int) (Figure, error) {
	watch := l.startWatch(ctx)
	err := redriveAll(ctx, st, f, want)
	if err == nil {
		err = appliedBy(c).await(ctx, want, nil)
	}
	return watch.figure(ctx, want, &histogram{}), err
}

// redriveAll redrives that many letters by the Go API.
func redriveAll(ctx context.Context, st opened, f dlq.Filter, want int) error {
	done, err := redrive.New(st).Redrive(ctx, redrive.Request{Filter: f, By: "bench", Reason: "the service answers again"})
	if err == nil && done.Done != want {
		err = fmt.Errorf("verify: %d letters were redriven, want %d", done.Done, want)
	}
	return err
}

// throughProcess does the same with a child process that redrives, as a command would that did nothing else.
func (l *lab) throughProcess(ctx context.Context, _ opened, c *consumer.Consumer, f dlq.Filter, want int) (Figure, error) {
	watch := l.startWatch(ctx)
	_, err := startChild(ctx, assignment{Work: "redrive", DSN: l.dsn, Rows: want, Letters: f})
	if err == nil {
		err = appliedBy(c).await(ctx, want, nil)
	}
	return watch.figure(ctx, want, &histogram{}), err
}

// childRedrive is the child process of throughProcess.
func (l *lab) childRedrive(ctx context.Context, o assignment) error {
	st, err := l.openStore(ctx)
	if err != nil {
		return err
	}
	return errors.Join(redriveAll(ctx, st, o.Letters, o.Rows), st.Close())
}

// throughJob plans, applies, and waits until each letter has its outcome.
func (l *lab) throughJob(ctx context.Context, st opened, _ *consumer.Consumer, f dlq.Filter, want int) (Figure, error) {
	o := st.Operations()
	asker := instance.Asker{Requests: o.Requests, Instances: o.Instances, Every: look}
	ask := func(kind string, args any) (a redriving.Answer, err error) {
		r, err := instance.Request{Kind: kind, Consumer: f.Consumer, By: "bench", Reason: "the service answers again"}.With(args)
		for err == nil {
			if err = asker.Ask(ctx, r, instance.Valid, &a); !errors.Is(err, instance.ErrNoAnswer) {
				break
			}
			err = context.Cause(ctx) // the consumer starts
		}
		return a, err
	}
	planned, err := ask(redriving.KindPlan, redriving.Plan{Kind: job.Redriving, Filter: f, Options: job.DefaultOptions()})
	if err != nil {
		return Figure{}, err
	}
	watch := l.startWatch(ctx)
	if _, err := ask(redriving.KindApply, redriving.Apply{ID: planned.ID}); err != nil {
		return Figure{}, err
	}
	for {
		r, err := o.Redrives.Get(ctx, planned.ID)
		switch {
		case err != nil:
			return Figure{}, err
		case r.State == job.Done && r.Succeeded == int64(want):
			return watch.figure(ctx, want, &histogram{}), nil
		case r.State != job.Running:
			return Figure{}, fmt.Errorf("verify: %d letters were to succeed: %+v", want, r)
		}
		select {
		case <-time.After(10 * look):
		case <-ctx.Done():
			return Figure{}, context.Cause(ctx)
		}
	}
}
