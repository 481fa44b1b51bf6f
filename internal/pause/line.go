package pause

import (
	"context"

	"github.com/headrace/headrace/internal/drain"
)

// Line begins no rows of its line while the consumer is paused, or runs no handlers. It
// continues to poll, which shows whether the database answers.
type Line struct {
	drain.Line
	Paused func() bool
}

// Poll implements drain.Line.
func (l Line) Poll(ctx context.Context, marks []int64) (drain.Polled, error) {
	polled, err := l.Line.Poll(ctx, marks)
	if l.Paused() {
		polled = drain.Polled{}
	}
	return polled, err
}

// Work implements drain.Line.
func (l Line) Work(ctx context.Context, shard int, after int64) (drain.Result, error) {
	if l.Paused() {
		return drain.Result{}, nil
	}
	return l.Line.Work(ctx, shard, after)
}
