package drain

import (
	"time"

	"github.com/headrace/headrace/internal/shard"
)

// Options configure a Drain. The zero value works.
type Options struct {
	// Workers is how many shards are worked on at a time, each with its own connection.
	// Default 4; never more than there are shards.
	Workers int
	// MinPoll is the least time between two polls. Default 5 ms.
	MinPoll time.Duration
	// MaxPoll is the most time between two polls of an idle line, plus or minus a
	// quarter. Default 1 s.
	MaxPoll time.Duration
	// BottomEvery is how often to look for rows below the marks. If such a look takes
	// long it is done less often, so that it takes about a tenth of the time, down to
	// once in 5 s. Default 100 ms.
	BottomEvery time.Duration
	// MaxPause bounds the pause after failures, which starts at 50 ms and doubles.
	// Default 5 s.
	MaxPause time.Duration
	// Wake makes the next poll come at once. May be nil.
	Wake <-chan struct{}
	// OnState is called with each error, and with nil when everything works again,
	// by one goroutine. It must not block. May be nil.
	OnState func(error)
}

const (
	firstPause = 50 * time.Millisecond
	// slowBottom is the pause after a look at the bottom, as a multiple of its duration,
	// and maxBottom the longest pause.
	slowBottom = 10
	maxBottom  = 5 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = 4
	}
	o.Workers = min(o.Workers, shard.Count)
	o.MinPoll = positive(o.MinPoll, 5*time.Millisecond)
	o.MaxPoll = max(positive(o.MaxPoll, time.Second), o.MinPoll)
	o.BottomEvery = positive(o.BottomEvery, 100*time.Millisecond)
	o.MaxPause = positive(o.MaxPause, 5*time.Second)
	if o.OnState == nil {
		o.OnState = func(error) {}
	}
	return o
}

func positive(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}
