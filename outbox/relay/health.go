package relay

import (
	"context"
	"time"

	"github.com/headrace/headrace/internal/sleep"
)

// HealthReporter is a sink that knows whether its broker is there. Without it, a relay
// whose broker is away stalls only when there is an event to publish.
type HealthReporter interface {
	// Healthy returns nil if the broker answers and would take a message now, as far as the
	// sink knows. It knows of no topic, so a topic that is missing, or a right to it, is no
	// matter of Healthy.
	//
	// While the relay may publish, one goroutine calls it every 5 seconds, unless rows were
	// confirmed meanwhile. It returns when ctx ends, 4 seconds later. If it fails twice in a
	// row, 2 seconds apart, the relay is stalled until it returns nil or a row is confirmed.
	// Its error is logged and given to OnStalled, so it contains no credentials.
	Healthy(ctx context.Context) error
}

// askEvery is the time between two questions to the sink, askAgain that after the first one
// that failed, and askTime bounds an answer.
const (
	askEvery = 5 * time.Second
	askAgain = 2 * time.Second
	askTime  = 4 * time.Second
)

// ask asks the sink whether its broker is there, until ctx ends. It returns at once if the
// sink does not know.
func (r *Relay) ask(ctx context.Context) {
	sink, knows := r.sink.(HealthReporter)
	if !knows {
		return
	}
	confirmed, failures := r.publisher.Confirmed(), 0
	for pause := askEvery; sleep.For(ctx, pause); {
		pause = askEvery
		if now := r.publisher.Confirmed(); now != confirmed || !r.place.May() {
			confirmed, failures = now, 0
			continue
		}
		err := answer(ctx, sink)
		if failures++; err == nil {
			failures = 0
		}
		switch {
		case ctx.Err() != nil:
			return
		case failures == 1:
			pause = askAgain
		case r.publisher.Confirmed() == confirmed:
			r.stall.asked(err, confirmed, time.Now())
		}
	}
}

func answer(ctx context.Context, sink HealthReporter) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return sink.Healthy(ctx)
}
