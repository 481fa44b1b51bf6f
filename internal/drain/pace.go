package drain

import "time"

// pace decides when to poll.
type pace struct {
	o        Options
	asking   bool          // a poll is under way
	woken    bool          // since the last one began
	interval time.Duration // between polls now
	last     time.Time     // when the last one ended
	at       time.Time     // when the next one is due by the interval
	dueAt    time.Time     // when the next row is due; zero if none
	pause    time.Duration // after the last failure; 0 if it did not fail
}

func newPace(o Options) *pace { return &pace{o: o, interval: o.MinPoll} }

// next returns when to poll. queued says that shards wait for a worker already; restEnds
// is when a shard with work may be visited, zero for none.
func (p *pace) next(queued bool, restEnds time.Time) time.Time {
	if p.pause > 0 {
		return p.at
	}
	at := earlier(earlier(p.at, p.dueAt), restEnds)
	if floor := p.last.Add(p.o.MinPoll); p.woken || at.Before(floor) {
		at = floor
	}
	// The workers have enough to do; poll only often enough that every shard gets its
	// turn.
	if busy := p.last.Add(p.o.BottomEvery); queued && at.Before(busy) {
		at = busy
	}
	return at
}

func (p *pace) wake() { p.woken, p.interval = true, p.o.MinPoll }

// active makes the next poll come soon: after work there is likely to be more.
func (p *pace) active() {
	p.interval = p.o.MinPoll
	p.at = earlier(p.at, p.last.Add(p.interval))
}

func (p *pace) asked() { p.asking, p.woken = true, false }

func (p *pace) answered(now time.Time, next time.Duration) {
	p.asking, p.pause, p.last, p.dueAt = false, 0, now, time.Time{}
	p.at = now.Add(jitter(p.interval))
	p.interval = min(2*p.interval, p.o.MaxPoll)
	if next > 0 {
		p.dueAt = now.Add(next)
	}
}

func (p *pace) failed(now time.Time) {
	p.asking, p.last = false, now
	p.pause = min(max(2*p.pause, firstPause), p.o.MaxPause)
	p.at = now.Add(jitter(p.pause))
}

// earlier returns the first of a and b; zero means never.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}
