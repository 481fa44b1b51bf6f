package story

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// pump is the one goroutine that owns what a source has in flight.
type pump struct {
	*source
	n        int64 // the newest delivery of this run
	ready    []*flight
	inFlight map[int64]*flight
	done     map[int64]bool // acknowledged, above mark
	mark     int64          // every delivery up to here is acknowledged
	flushed  int64
}

// flight is a delivery on its way.
type flight struct {
	delivery
	message *message.Message
}

// event is what became of a delivery.
type event struct {
	n     int64
	acked bool // or to be handed out again
}

// run works until Close.
func (p *pump) run(ctx context.Context) {
	defer p.sweep()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	incoming := p.incoming
	for ctx.Err() == nil {
		if incoming == nil && len(p.inFlight) == 0 {
			p.finish()
		}
		var out chan<- *message.Message
		var next *message.Message
		if len(p.ready) > 0 {
			out, next = p.out, p.ready[0].message
		}
		select {
		case run := <-p.orphans:
			p.adopt(run)
		case w, ok := <-incoming:
			if !ok {
				incoming = nil
				continue
			}
			p.take(ctx, w)
		case out <- next:
			p.watch(p.ready[0])
			p.ready = p.ready[1:]
			p.handedOut.Add(1)
		case e := <-p.events:
			p.settle(ctx, e)
		case <-tick.C:
			p.flush()
		case <-ctx.Done():
		case <-p.closing:
			return
		}
	}
	close(p.out)
	for { // nothing new; what is acknowledged while the consumer drains still counts
		select {
		case e := <-p.events:
			if e.acked {
				p.acknowledge(e.n)
			}
		case <-p.closing:
			return
		}
	}
}

// take gathers what has come and hands it out together: one commit of the journal for all.
func (p *pump) take(ctx context.Context, w webhook) {
	batch := []webhook{w}
	for range len(p.incoming) {
		w, ok := <-p.incoming
		if !ok {
			break
		}
		batch = append(batch, w)
	}
	p.send(ctx, batch)
}

// send writes webhooks into the journal and makes them ready. It tries until ctx ends, and reports whether it
// came to that.
func (p *pump) send(ctx context.Context, batch []webhook) bool {
	list := make([]delivery, len(batch))
	for i, w := range batch {
		p.n++
		list[i] = delivery{p.n, w}
	}
	for {
		err := p.journal.send(list)
		if err == nil {
			p.add(list)
			return true
		}
		p.log.Warn("the journal cannot be written; trying again", "error", err)
		select {
		case <-time.After(pause):
		case <-p.closing:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// add makes deliveries ready that are in the journal.
func (p *pump) add(list []delivery) {
	for _, d := range list {
		m := message.NewMessage(d.ID, d.Payload)
		m.Metadata = d.metadata()
		m.SetContext(headrace.WithArrival(context.Background(), headrace.Arrival{Coordinates: d.At}))
		f := &flight{delivery: d, message: m}
		p.inFlight[d.n] = f
		p.ready = append(p.ready, f)
	}
}

// adopt hands out what another run had in flight.
func (p *pump) adopt(run string) {
	list, err := p.journal.adopt(run, p.n+1)
	if err != nil {
		p.log.Warn("what another run had in flight is left to the next one", "error", err)
		return
	}
	p.n += int64(len(list))
	for _, d := range list {
		p.room.force(len(d.Payload))
	}
	p.add(list)
}

// watch reports what becomes of f.
func (p *pump) watch(f *flight) {
	p.pump.Go(func() {
		timer := time.NewTimer(visibility)
		defer timer.Stop()
		e := event{n: f.n}
		select {
		case <-f.message.Acked():
			e.acked = true
		case <-timer.C:
		case <-f.message.Nacked():
			timer.Reset(pause)
			select {
			case <-timer.C:
			case <-p.closing:
				return
			}
		case <-p.closing:
			return
		}
		select {
		case p.events <- e:
		case <-p.closing:
		}
	})
}

func (p *pump) settle(ctx context.Context, e event) {
	if e.acked {
		p.acknowledge(e.n)
		return
	}
	f := p.inFlight[e.n]
	if !p.send(ctx, []webhook{f.webhook}) {
		return
	}
	p.forget(e.n)
}

func (p *pump) acknowledge(n int64) {
	p.room.give(len(p.inFlight[n].Payload))
	p.forget(n)
	p.acknowledged.Add(1)
}

// forget ends the flight n: it was acknowledged, or goes on under another number.
func (p *pump) forget(n int64) {
	delete(p.inFlight, n)
	p.done[n] = true
	for p.done[p.mark+1] {
		delete(p.done, p.mark+1)
		p.mark++
	}
	p.journal.acked.Store(p.mark)
}

// finish says that everything was acknowledged.
func (p *pump) finish() {
	if p.flushed != p.mark {
		p.flush()
	}
	select {
	case <-p.drained:
	default:
		close(p.drained)
	}
}

func (p *pump) flush() {
	mark := p.mark
	if err := p.journal.flush(); err != nil {
		p.log.Warn("the journal cannot be written", "error", err)
		return
	}
	p.flushed = mark
}

// sweep records what was acknowledged and not yet reported.
func (p *pump) sweep() {
	for n, f := range p.inFlight {
		select {
		case <-f.message.Acked():
			p.acknowledge(n)
		default:
		}
	}
	p.flush()
}
