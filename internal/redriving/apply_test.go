package redriving_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/redriving"
)

// exec runs a statement on the database beside the store.
func (b *fixture) exec(sqlite, postgres string) {
	b.Helper()
	query := sqlite
	if b.kind == "postgres" {
		query = postgres
	}
	t, err := b.st.Begin(b.ctx)
	b.must(err)
	defer t.Rollback()
	result, err := t.ExecContext(b.ctx, query)
	b.must(err)
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		b.Fatalf("%s: %d, %v", query, n, err)
	}
	b.must(b.st.Commit(b.ctx, t, nil))
}

// silent has a process that has not beaten for a while.
func (b *fixture) silent(id string) {
	b.exec("UPDATE headrace_instances SET beat_at = beat_at - 60000000 WHERE id = '"+id+"'",
		"UPDATE "+b.schema()+"headrace_instances SET beat_at = beat_at - interval '1 minute' WHERE id = '"+id+"'")
}

func (b *fixture) pauseConsumer() {
	b.Helper()
	_, err := b.st.Operations().Pauses.Pause(b.ctx, instance.Pause{Consumer: consumer, By: "bo", Reason: "limit"})
	b.must(err)
}

// Apply refuses what is not any more as it was when it was planned, and says what has changed.
//
//evidence:redrive-job
func TestApplyRefuses(t *testing.T) {
	type apply = redriving.Apply
	for name, tt := range map[string]struct {
		change func(b *fixture, id int64)
		says   string
		// accept goes on all the same; nil if nothing does.
		accept *apply
	}{
		"expired": {func(b *fixture, id int64) {
			b.exec("UPDATE headrace_redrives SET expires_at = planned_at", "UPDATE "+b.schema()+"headrace_redrives SET expires_at = planned_at")
		}, "was valid until", nil},
		"applied": {func(b *fixture, id int64) {
			_, err := b.engine.Apply(b.ctx, apply{ID: id}, "cy", "mine")
			b.must(err)
		}, "was applied by cy at", nil},
		"cancelled": {func(b *fixture, id int64) {
			_, err := b.engine.Cancel(b.ctx, id, "cy", "")
			b.must(err)
		}, "is cancelled: by cy", nil},
		"preparing": {func(b *fixture, id int64) {
			b.exec("UPDATE headrace_redrives SET state = 'preparing'", "UPDATE "+b.schema()+"headrace_redrives SET state = 'preparing'")
		}, "is being prepared, or the process that prepared it has ended: plan it again", nil},
		"another build": {func(b *fixture, id int64) { b.end("1"); b.start("2", "v2") }, "billing runs v2 now, and ran v1 then", &apply{AcceptBuild: true}},
		"a rollout":     {func(b *fixture, id int64) { b.start("2", "v2") }, "billing runs v1 and v2 now", &apply{AcceptBuild: true}},
		"new letters": {func(b *fixture, id int64) {
			time.Sleep(2 * time.Millisecond) // the clock of SQLite counts milliseconds
			b.die(letter("new", func(l *dlq.Letter) { l.Build = "v1" }))
		}, "1 new letters for the same reasons from v1: the fix does not work", nil},
		"paused": {func(b *fixture, id int64) { b.pauseConsumer() }, "billing is paused by bo: limit", &apply{Anyway: true}},
		"no handler": {func(b *fixture, id int64) {
			b.exec("UPDATE headrace_instances SET handlers = '[]'", "UPDATE "+b.schema()+"headrace_instances SET handlers = '[]'")
		}, "no process of billing has the handler orders.paid", &apply{Anyway: true}},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(b *fixture) {
				b.die(many(2)...)
				id := b.plan()
				tt.change(b, id)
				before := b.get(id)
				_, err := b.engine.Apply(b.ctx, apply{ID: id}, "bo", "fixed")
				if says := b.refused(err); !strings.Contains(says, tt.says) {
					b.Errorf("%s", says)
				}
				if after := b.get(id); after.State != before.State || after.AppliedBy != before.AppliedBy {
					b.Errorf("%+v", after)
				}
				if tt.accept == nil {
					return
				}
				accept := *tt.accept
				accept.ID = id
				r, err := b.engine.Apply(b.ctx, accept, "bo", "fixed")
				if b.must(err); r.State != job.Running {
					b.Errorf("%+v", r)
				}
			})
		})
	}
}

// Letters of another reason, and of builds that do not run, say nothing about the fix.
func TestApplyWithOtherLetters(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(2)...)
		id := b.plan()
		time.Sleep(2 * time.Millisecond)
		b.die(letter("old pod", func(l *dlq.Letter) { l.Build = "v0" }), letter("other", func(l *dlq.Letter) { l.Build, l.ErrorFingerprint = "v1", "another" }))
		_, err := b.engine.Apply(b.ctx, redriving.Apply{ID: id}, "bo", "")
		if !strings.Contains(b.refused(err), "say why") {
			b.Error(err)
		}
		_, err = b.engine.Apply(b.ctx, redriving.Apply{ID: id}, "bo", "fixed")
		b.must(err)
		_, err = b.engine.Apply(b.ctx, redriving.Apply{ID: 99}, "bo", "fixed")
		if !errors.Is(err, job.ErrNotFound) {
			b.Error(err)
		}
	})
}

func TestPlanRefuses(t *testing.T) {
	onBoth(t, func(b *fixture) {
		for name, p := range map[string]redriving.Plan{
			"no letters":       {Kind: job.Redriving, Options: job.DefaultOptions()},
			"another consumer": {Kind: job.Redriving, Options: job.DefaultOptions(), Filter: dlq.Filter{Consumer: "mailer"}},
			"no kind":          {Options: job.DefaultOptions()},
			"no window":        {Kind: job.Redriving},
		} {
			if _, err := b.engine.Plan(b.ctx, p, "ann"); !errors.Is(err, instance.ErrRefused) {
				b.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A process that ends while letters are under way pauses the job: one of them may have ended it.
//
//evidence:redrive-job
func TestProcessEnds(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(3)...)
		b.start("2", "v1")
		id := b.run()
		b.step(id)
		b.exec("UPDATE headrace_redrives SET resumed_at = resumed_at - 120000000", "UPDATE "+b.schema()+"headrace_redrives SET resumed_at = resumed_at - interval '2 minutes'")
		b.exec("UPDATE headrace_redrive_letters SET at = at - 100000000", "UPDATE "+b.schema()+"headrace_redrive_letters SET at = at - interval '100 seconds'")
		b.silent("2")
		if d := b.step(id); d.Action != job.Pause || !strings.Contains(d.Why, "a process of billing on host-2 ended unexpectedly with 1 under way") {
			b.Fatalf("%+v", d)
		}
		_, err := b.engine.Resume(b.ctx, redriving.Resume{ID: id})
		b.must(err)
		b.succeed(b.ready()...)
		if d := b.step(id); d.Action != job.Send {
			b.Errorf("%+v", d)
		}
	})
}

// So does one that ends with the first letter, before it has beaten again since the job was applied: the
// person who resumes the job knows it.
//
//evidence:redrive-job
func TestProcessEndsAtOnce(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(3)...)
		b.start("2", "v1")
		id := b.run()
		b.step(id)
		for column, table := range map[string]string{"resumed_at": "headrace_redrives", "at": "headrace_redrive_letters"} {
			b.exec("UPDATE "+table+" SET "+column+" = "+column+" - 14000000", "UPDATE "+b.schema()+table+" SET "+column+" = "+column+" - interval '14 seconds'")
		}
		b.exec("UPDATE headrace_instances SET beat_at = beat_at - 16000000 WHERE id = '2'", "UPDATE "+b.schema()+"headrace_instances SET beat_at = beat_at - interval '16 seconds' WHERE id = '2'")
		if d := b.step(id); d.Action != job.Pause || !strings.Contains(d.Why, "ended unexpectedly with 1 under way") {
			b.Fatalf("%+v", d)
		}
		_, err := b.engine.Resume(b.ctx, redriving.Resume{ID: id})
		b.must(err)
		if d := b.step(id); d.Action == job.Pause {
			b.Errorf("it pauses again: %+v", d)
		}
	})
}

// A plan is valid for as long as it says.
func TestValid(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(1)...)
		for valid, want := range map[time.Duration]time.Duration{0: job.Valid, 2 * time.Hour: 2 * time.Hour} {
			r := b.get(b.plan(func(p *redriving.Plan) { p.Valid = valid }))
			if got := r.Expires.Sub(r.Now).Round(time.Minute); got != want {
				b.Errorf("valid for %s, want %s", got, want)
			}
		}
		for _, valid := range []time.Duration{-1, time.Second, 25 * time.Hour} {
			b.refused(second(b.engine.Plan(b.ctx, redriving.Plan{Kind: job.Redriving, Options: job.DefaultOptions(), Valid: valid}, "ann")))
		}
	})
}

// A job on which no process worked for long does not go on by itself.
func TestForgottenJob(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(3)...)
		id := b.run()
		b.exec("UPDATE headrace_redrives SET stepped_at = stepped_at - 660000000", "UPDATE "+b.schema()+"headrace_redrives SET stepped_at = stepped_at - interval '11 minutes'")
		if d := b.step(id); d.Action != job.Pause || !strings.Contains(d.Why, "no process of billing has worked on it for 11m") {
			b.Errorf("%+v", d)
		}
	})
}

// What people ask comes as requests.
func TestActions(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(many(2)...)
		actions := b.engine.Actions()
		ask := func(kind string, args any) (redriving.Answer, error) {
			text, err := json.Marshal(args)
			b.must(err)
			value, err := actions[kind](b.ctx, instance.Request{Kind: kind, Consumer: consumer, Args: text, By: "ann", Reason: "fixed"})
			if err != nil {
				return redriving.Answer{}, err
			}
			return value.(redriving.Answer), nil
		}
		planned, err := ask(redriving.KindPlan, redriving.Plan{Kind: job.Redriving, Options: job.DefaultOptions()})
		if b.must(err); planned.State != job.Planned || planned.Count != 2 {
			b.Fatalf("%+v", planned)
		}
		for _, step := range []struct {
			kind string
			args any
			want job.State
		}{
			{redriving.KindApply, redriving.Apply{ID: planned.ID}, job.Running},
			{redriving.KindPause, redriving.Which{ID: planned.ID}, job.Paused},
			{redriving.KindResume, redriving.Resume{ID: planned.ID}, job.Running},
			{redriving.KindCancel, redriving.Which{ID: planned.ID}, job.Cancelled},
		} {
			if a, err := ask(step.kind, step.args); err != nil || a.State != step.want {
				b.Errorf("%s: %+v, %v", step.kind, a, err)
			}
			if _, err := ask(step.kind, step.args); !errors.Is(err, instance.ErrRefused) {
				b.Errorf("%s a second time: %v", step.kind, err)
			}
		}
		if _, err := actions[redriving.KindApply](b.ctx, instance.Request{Args: []byte("{")}); !errors.Is(err, instance.ErrRefused) {
			b.Error(err)
		}
	})
}
