package amqp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/consumer"
)

var modest = consumer.Demands{HandlerTimeout: time.Second, AckWait: 5 * time.Second, Deliveries: 10, InFlight: 10}

// Rule: a queue that loses what the broker has confirmed is refused at start, by name,
// where the management API tells; UnsafeLossy takes it.
//
//evidence:amqp-queue
func TestLossyQueueIsRefused(t *testing.T) {
	b := setup(t)
	api := variable(t, "HEADRACE_TEST_RABBITMQ_MANAGEMENT")
	queues := map[string]struct {
		fleeting, auto bool
		args           amqp091.Table
		want           string // "" for none
	}{
		"max-length":       {args: amqp091.Table{"x-max-length": 1}, want: "x-max-length"},
		"max-length-bytes": {args: amqp091.Table{"x-max-length-bytes": 1}, want: "x-max-length-bytes"},
		"reject-publish":   {args: amqp091.Table{"x-max-length": 1, "x-overflow": "reject-publish"}},
		"ttl":              {args: amqp091.Table{"x-message-ttl": 500}, want: "x-message-ttl"},
		"expires":          {args: amqp091.Table{"x-expires": 600_000}, want: "x-expires"},
		"not durable":      {fleeting: true, want: "not durable"},
		"auto-delete":      {auto: true, want: "auto-delete"},
		"plain":            {},
		"quorum":           {args: amqp091.Table{"x-queue-type": "quorum", "x-max-length": 1}, want: "x-max-length"},
	}
	for name, q := range queues { // all of them first: the API knows their policies after seconds
		queue := b.queue + name
		_, err := b.admin.QueueDeclare(queue, !q.fleeting, q.auto, false, false, q.args)
		b.must(err)
		t.Cleanup(func() { _, _ = b.channel().QueueDelete(queue, false, false, false) })
	}
	for name, q := range queues {
		queue := b.queue + name
		err := b.source(amqp.SourceOptions{Management: api + "/"}).Check(b.ctx, queue, modest)
		if q.want == "" && err != nil || q.want != "" && (err == nil || !strings.Contains(err.Error(), q.want) || !strings.Contains(err.Error(), "UnsafeLossy")) {
			t.Errorf("%s: %v, want %q", name, err, q.want)
		}
		if err := b.source(amqp.SourceOptions{Management: api, UnsafeLossy: true}).Check(b.ctx, queue, modest); err != nil {
			t.Errorf("%s, with UnsafeLossy: %v", name, err)
		}
	}
}

// Rule: and so is one that does it by a policy.
//
//evidence:amqp-queue
func TestLossyPolicyIsRefused(t *testing.T) {
	b := setup(t)
	api := variable(t, "HEADRACE_TEST_RABBITMQ_MANAGEMENT")
	b.ctl("set_policy", "--apply-to", "queues", b.queue, fmt.Sprintf("^%s$", b.queue), `{"message-ttl": 60000}`)
	t.Cleanup(func() { b.ctl("clear_policy", b.queue) })
	b.declare(amqp.Quorum, nil)
	err := b.source(amqp.SourceOptions{Management: api}).Check(b.ctx, b.queue, modest)
	if err == nil || !strings.Contains(err.Error(), "message-ttl of its policy") {
		t.Errorf("Check: %v", err)
	}
}

// Rule: a stream is no queue: it remembers of no consumer what was done. It is refused at
// start by Check, where the management API tells, and by Subscribe in any case.
//
//evidence:amqp-queue
func TestStreamIsRefused(t *testing.T) {
	b := setup(t)
	api := variable(t, "HEADRACE_TEST_RABBITMQ_MANAGEMENT")
	b.declare("stream", nil)
	refused := func(what string, err error) {
		if err == nil || !strings.Contains(err.Error(), "is a stream") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("Check", b.source(amqp.SourceOptions{Management: api, UnsafeLossy: true}).Check(b.ctx, b.queue, modest))
	s := b.source(amqp.SourceOptions{})
	_, err := s.Subscribe(b.ctx, b.queue)
	refused("Subscribe", err)

	s.Pause(b.queue) // then it consumes later
	messages := b.subscribe(s)
	s.Resume(b.queue)
	if m := b.next(messages); m != nil || !strings.Contains(b.log.String(), "is a stream") {
		t.Errorf("resumed: %v; the log says:\n%s", m, b.log.String())
	}
}
