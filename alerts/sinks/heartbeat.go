package sinks

import (
	"context"
	"time"
)

// beat is the time between two calls of a Pulse.
const beat = time.Minute

// Pulse calls a dead man's switch: a service that alerts when the calls end. It tells of what
// no sink can tell: that no process is left. Make one with Heartbeat.
type Pulse struct {
	caller *caller
	every  time.Duration
}

// Heartbeat returns a Pulse that calls rawURL, which is a secret. Least and Name of the options
// are not used. The error shows nothing of the URL.
func Heartbeat(rawURL string, o Options) (*Pulse, error) {
	c, err := newCaller("heartbeat", rawURL, o)
	if err != nil {
		return nil, err
	}
	return &Pulse{caller: c, every: beat}, nil
}

// Run posts to the URL at once and then each minute, as long as check returns nil: pass
// Consumer.Alive, or Ready if an outage of the database or the broker should call a person, too.
// It blocks until ctx ends. failed, which may be nil, is told of calls that failed; they are
// not made again, since the next one comes soon. Start it beside Consumer.Run.
func (p *Pulse) Run(ctx context.Context, check func() error, failed func(error)) {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		if check() == nil {
			if err := p.caller.post(ctx, nil); err != nil && failed != nil && ctx.Err() == nil {
				failed(err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
