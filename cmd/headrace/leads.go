package main

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/migrate"
)

// groupWords names a group in a command.
func groupWords(ctx context.Context, st openStore, id groups.ID) (string, error) {
	return inspect.GroupWords(ctx, st, id, migrate.Quote)
}

// nextOf leads to a command of a group.
func (m *Main) nextOf(ctx context.Context, st openStore, command string, id groups.ID) error {
	words, err := groupWords(ctx, st, id)
	if err == nil {
		m.next("%s %s", command, words)
	}
	return err
}

// nextWhy leads to a group; to a letter of it if it has no state, as cancelled letters have none.
func (m *Main) nextWhy(ctx context.Context, st openStore, g groups.Group) error {
	if g.State == "" {
		m.next("dlq show %d", g.LastLetter)
		return nil
	}
	return m.nextOf(ctx, st, "dlq why", g.ID)
}

// nextGroup leads to the group that a redrive was planned for; to all of its consumer if it has none.
func (m *Main) nextGroup(ctx context.Context, st openStore, r job.Redrive, command string) error {
	if r.ErrorFingerprint == "" {
		m.next("dlq groups --consumer %s", migrate.Quote(r.Consumer))
		return nil
	}
	return m.nextOf(ctx, st, command, groups.ID{Consumer: r.Consumer, Handler: r.Handler, ErrorFingerprint: r.ErrorFingerprint})
}

// nextLetter leads on from a letter.
func (m *Main) nextLetter(v detailView) {
	switch {
	case v.State == dlq.Open && (v.Class == dlq.Cancelled || v.Group == ""): // it is in no group
		m.next("dlq redrive %d --reason WHY", v.ID)
	case v.State == dlq.Open:
		m.next("dlq why %s%s", v.Group, chosen(dlq.Filter{Consumer: v.Consumer, Handler: v.Handler}))
	case v.NextID != 0:
		m.next("dlq show %d", v.NextID)
	case v.State == dlq.Discarded:
		m.next("dlq restore %d --reason WHY", v.ID)
	default:
		m.next("inbox show %s", migrate.Quote(v.Key))
	}
}

// nextRefused leads on where a plan was not applied.
func (m *Main) nextRefused(ctx context.Context, st openStore, id int64, err error) error {
	if !errors.Is(err, instance.ErrRefused) {
		return err
	}
	m.refused = true
	r, failed := st.Operations().Redrives.Get(ctx, id)
	switch {
	case failed != nil:
	case r.State == job.Planned && r.Now.Before(r.Expires):
		failed = m.nextGroup(ctx, st, r, "dlq why")
	case r.State == job.Planned, r.State == job.Cancelled && r.Applied.IsZero():
		failed = m.nextPlan(ctx, st, r)
	default:
		m.next("redrive show %s", job.Name(id))
	}
	return errors.Join(err, failed)
}

// nextPlan leads to the same plan, where its filter was a group.
func (m *Main) nextPlan(ctx context.Context, st openStore, r job.Redrive) error {
	command := "redrive plan"
	if r.Kind == job.Discarding {
		command += " --discard"
	}
	return m.nextGroup(ctx, st, r, command)
}

// nextPaused leads on from a redrive that has paused: to its processes if none runs.
func (m *Main) nextPaused(ctx context.Context, st openStore, r job.Redrive) error {
	builds, err := inspect.Running(ctx, st, r.Consumer)
	switch {
	case err != nil:
		return err
	case len(builds) == 0:
		m.next("consumer ls %s", migrate.Quote(r.Consumer))
	case r.Kind != job.Redriving || slices.Equal(slices.Sorted(maps.Keys(builds)), slices.Sorted(slices.Values(r.Builds))):
		m.next("redrive resume %s", job.Name(r.ID))
	case slices.ContainsFunc(r.Survey, func(s job.Survey) bool { return builds[s.Build] > 0 }): // a rollback: these would fail there again
		m.next("consumer ls %s", migrate.Quote(r.Consumer))
		m.say("when %s runs again: %s", job.NameBuilds(r.Builds), m.command("redrive resume "+job.Name(r.ID)))
	default: // it goes on only with the builds that a person accepts
		m.next("redrive resume %s --accept-build", job.Name(r.ID))
	}
	m.say("or: %s", m.command("redrive cancel "+job.Name(r.ID)+" --reason WHY"))
	return nil
}

// nextEnded leads on from a redrive that is over. One whose letters all succeeded is the end of the way.
func (m *Main) nextEnded(ctx context.Context, st openStore, r job.Redrive) error {
	switch {
	case r.State == job.Cancelled:
		return m.nextGroup(ctx, st, r, "dlq why")
	case r.Skipped > 0:
		m.next("redrive letters %s --state skipped", job.Name(r.ID))
	case r.Kind == job.Discarding:
		m.nextDiscarded(r.ID, r.Consumer)
	}
	return nil
}

// nextDiscarded leads on after a discard, and says how to take it back.
func (m *Main) nextDiscarded(id int64, consumer string) {
	m.next("dlq groups --consumer %s", migrate.Quote(consumer))
	m.say("to take it back: %s", m.command("dlq restore "+job.Name(id)+" --reason WHY"))
}
