package consumer

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/around"
	"github.com/headrace/headrace/internal/group"
)

func init() {
	around.Open = func(c any) around.Inside { return c.(*Consumer).inside() }
}

// inside is what package consumertest reaches of c before it runs.
func (c *Consumer) inside() around.Inside {
	return around.Inside{
		Put: func(f around.Func) {
			for _, h := range c.handlers {
				putAround(h.Handler, f)
			}
		},
		Identify: c.identify,
		Hurry: func(n int) {
			for _, d := range []*time.Duration{&c.pace.look, &c.pace.beat, &c.pace.missed, &c.pace.most} {
				*d /= time.Duration(n)
			}
		},
		Cut:    func() { c.config.DrainTimeout = time.Millisecond },
		Relays: c.config.Sink != nil || len(c.config.Routes) > 0,
	}
}

// putAround puts f around the runs of h.
func putAround(h *group.Handler, f around.Func) {
	run, stage := h.Run, around.Handling
	if h.Leased != nil {
		stage = around.Applying
	}
	h.Run = func(ctx context.Context, tx *headrace.Tx, inputs []group.Input) error {
		return f(ctx, runOf(h, stage, inputs...), func() error { return run(ctx, tx, inputs) })
	}
	if h.Leased == nil {
		return
	}
	work := h.Leased.Work
	h.Leased.Work = func(ctx context.Context, in group.Input) (effects headrace.Effects, err error) {
		err = f(ctx, runOf(h, around.Working, in), func() (err error) {
			effects, err = work(ctx, in)
			return err
		})
		if err == nil && effects == nil { // or nothing would be applied, and f not called for that
			effects = func(context.Context, *headrace.Tx) error { return nil }
		}
		return effects, err
	}
}

func runOf(h *group.Handler, stage around.Stage, inputs ...group.Input) around.Run {
	r := around.Run{Handler: h.Name, Batch: h.Batch, Stage: stage, Deliveries: make([]headrace.Delivery, len(inputs))}
	for i := range inputs {
		r.Deliveries[i] = inputs[i].Delivery
	}
	return r
}

// identify resolves m as a delivery of topic is: see resolver.
func (c *Consumer) identify(topic string, m *message.Message) []headrace.Delivery {
	var list []headrace.Delivery
	for _, h := range c.handlers {
		if h.Topic != topic && c.router == nil {
			continue
		}
		d := inbox.Received(m, h.Scope, topic)
		_ = inbox.Identify(&d, h.resolve.key, h.resolve.fingerprint) // then it has the key that its letter has
		list = append(list, d)
	}
	return list
}
