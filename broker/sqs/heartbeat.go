package sqs

import (
	"context"
	"sync"
	"time"
)

// beat renews the visibility of messages in work every third of the timeout, so that two
// beats may fail. It returns when ctx ends.
func (f *flight) beat(ctx context.Context) {
	ticker := time.NewTicker(f.visibility / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var calls sync.WaitGroup
		room := make(chan struct{}, settlers)
		due := f.due(time.Now())
		for len(due) > 0 {
			n := min(len(due), batchMost)
			batch := due[:n]
			due = due[n:]
			room <- struct{}{}
			calls.Go(func() {
				f.renew(ctx, batch)
				<-room
			})
		}
		calls.Wait()
	}
}

// due returns the messages that have used a third of their timeout. Most are settled
// earlier, and cost no beat.
func (f *flight) due(now time.Time) (due []*held) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for h := range f.all {
		if !h.lost && h.until.Sub(now) <= f.visibility*2/3+f.visibility/100 {
			due = append(due, h)
		}
	}
	return due
}

// renew hides a batch again, except messages that are just being given back.
func (f *flight) renew(ctx context.Context, due []*held) {
	batch := due[:0]
	for _, h := range due {
		if h.turn.TryLock() {
			defer h.turn.Unlock()
			batch = append(batch, h)
		}
	}
	batch = f.still(batch)
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	now := time.Now()
	r, err := f.visible(ctx, batch, func(h *held) time.Duration { return f.reach(h, now) })
	switch {
	case err != nil && ctx.Err() == nil:
		f.beats.Began(err)
	case err == nil:
		f.beats.Over()
	}
	f.learn(batch, r, now)
}

// reach is how long from now h can be hidden.
func (f *flight) reach(h *held, now time.Time) time.Duration {
	return min(f.visibility, h.since.Add(holdMost).Sub(now)-time.Second)
}

// still returns those that are in flight and can be kept.
func (f *flight) still(batch []*held) []*held {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	some := batch[:0]
	for _, h := range batch {
		_, found := f.all[h]
		if found && f.reach(h, now) < time.Second {
			h.lost = true
			f.log.Warn("SQS keeps a message for one receiver no longer than 12 hours: it comes again, while its handler still runs")
		}
		if found && !h.lost {
			some = append(some, h)
		}
	}
	return some
}

// learn records the result of a beat. A message that SQS refuses to hide was given to
// others meanwhile, or is deleted.
func (f *flight) learn(batch []*held, r results, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lost := 0
	for i, h := range batch {
		switch _, found := f.all[h]; {
		case r[i] == success:
			h.until = now.Add(f.reach(h, now))
		case r[i] == refusal && found:
			h.lost = true
			lost++
		}
	}
	if lost > 0 {
		f.log.Warn("SQS has taken back messages whose handlers are at work: they come again, as duplicates", "messages", lost)
	}
}
