package counting

import (
	"context"
	"log/slog"
	"time"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/sleep"
)

const (
	// addEvery is the time between two looks for changes, so that the state of a group is as
	// late at most. Every reviewTurns of them the time is looked at, and every pruneTurns
	// old rows go.
	addEvery    = time.Second
	reviewTurns = 10
	pruneTurns  = 3600
	// lookTime bounds the transactions of a turn, but for a long list of changes.
	lookTime = time.Minute
)

// Loop counts from time to time.
type Loop struct {
	*Counter
	// Instances are those of the database.
	Instances instance.Store
	Logger    *slog.Logger
}

// Run counts until ctx ends. It blocks.
func (l *Loop) Run(ctx context.Context) {
	part := outage.Part{Fails: "cannot count dead letters; trying again"}
	for turn := 1; sleep.For(ctx, addEvery); turn++ {
		err := l.turn(ctx, turn)
		if part.Tell(ctx, l.Logger, err); err == nil {
			l.Upkeep.Ran("count")
		}
	}
}

func (l *Loop) turn(ctx context.Context, turn int) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if turn%reviewTurns == 1 {
		if err := l.know(ctx); err != nil {
			return err
		}
	}
	if err := l.AddUp(ctx); err != nil {
		return err
	}
	if turn%reviewTurns == 0 {
		if err := l.Review(ctx); err != nil {
			return err
		}
	}
	if turn%pruneTurns == 0 {
		return l.Groups.Prune(ctx)
	}
	return nil
}

// know has the counters of all consumers begin at 0, since their groups may be counted here.
func (l *Loop) know(ctx context.Context) error {
	list, err := l.Instances.List(ctx, "")
	if err != nil {
		return err
	}
	for _, i := range list {
		l.Upkeep.Consumers(i.Consumer)
	}
	return nil
}
