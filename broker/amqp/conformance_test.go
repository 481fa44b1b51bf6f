package amqp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/broker/brokertest"
)

// rabbit is the server as the suite knows it, with queues of one kind.
type rabbit struct{ kind amqp.Kind }

// conformed is the broker of TestMain, whose children have it too: what differs between
// the kinds of queue is the declaration, which a child does not make.
var conformed = rabbit{amqp.Quorum}

func TestMain(m *testing.M) {
	if text := os.Getenv(ingestVariable); text != "" {
		fmt.Fprintln(os.Stderr, ingestAndDie(text))
		os.Exit(1)
	}
	brokertest.Main(m, conformed)
}

//evidence:amqp
func TestConformanceQuorum(t *testing.T) {
	conform(t, amqp.Quorum)
}

//evidence:amqp
func TestConformanceClassic(t *testing.T) {
	conform(t, amqp.Classic)
}

func conform(t *testing.T, kind amqp.Kind) {
	for _, name := range []string{"HEADRACE_TEST_RABBITMQ", "HEADRACE_TEST_RABBITMQ_MANAGEMENT", "HEADRACE_TEST_RABBITMQ_CTL"} {
		brokertest.Variable(t, name, "rabbitmq")
	}
	foreignTool(t, "amqp-publish")
	brokertest.Run(t, rabbit{kind})
}

func (r rabbit) Features() brokertest.Features {
	return brokertest.Features{
		Name: "amqp", Anonymous: true, Hostile: hostile,
		Redelivery: time.Second, InFlight: 64, Ordered: true,
		TooLarge: 17 << 20,
		Restart:  restart,
		Delete: func(ctx context.Context, topic string) error {
			return plain(ctx, func(ch *amqp091.Channel) error {
				_, err := ch.QueueDelete(topic, false, false, false)
				return err
			})
		},
	}
}

// restart kills the server and starts it again. RabbitMQ 3.10 writes what it knows of a new
// queue with a delay of seconds: killed before, it has lost a classic queue, and has a
// quorum queue for which it never finds a leader. That is not for a client to mend, so it
// is written first.
func restart(ctx context.Context) error {
	if out, err := ctl(ctx, "eval", "{mnesia:sync_log(), [dets:sync(T) || T <- dets:all()]}."); err != nil {
		return fmt.Errorf("rabbitmqctl eval: %w: %s", err, out)
	}
	return brokertest.Restart(ctx, "rabbitmq")
}

// ctl runs rabbitmqctl on the server.
func ctl(ctx context.Context, args ...string) ([]byte, error) {
	words := append(strings.Fields(os.Getenv("HEADRACE_TEST_RABBITMQ_CTL")), args...)
	return exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
}

func (r rabbit) Create(ctx context.Context, topic string) error {
	return plain(ctx, func(ch *amqp091.Channel) error {
		_, err := ch.QueueDeclare(topic, true, false, false, false, amqp091.Table{"x-queue-type": string(r.kind)})
		return err
	})
}

// ends logs why a subscription ended. It does not log interruptions, since these tests
// cause them.
var ends = slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})

func (r rabbit) server(addr string) amqp.Server {
	target := os.Getenv("HEADRACE_TEST_RABBITMQ")
	if addr != "" {
		u, err := url.Parse(target)
		if err != nil {
			panic(err)
		}
		u.Host = addr
		target = u.String()
	}
	return amqp.Server{URL: target, Timeout: 30 * time.Second, Logger: slog.New(ends)}
}

func (r rabbit) Source(addr string) (message.Subscriber, error) {
	return amqp.NewSource(amqp.SourceOptions{
		Server: r.server(addr), Topology: amqp.Topology{DeliveryLimit: amqp.Unlimited}, Prefetch: 64, PauseHold: time.Second,
		MissingGrace: waitTimeout, // a server that has just been started may not have elected leaders
	})
}

func (r rabbit) Sink(addr string) (message.Publisher, error) {
	return amqp.NewSink(amqp.SinkOptions{Server: r.server(addr), ConfirmTimeout: 20 * time.Second})
}

func (r rabbit) Addr() string {
	uri, err := amqp091.ParseURI(os.Getenv("HEADRACE_TEST_RABBITMQ"))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", uri.Host, uri.Port)
}

// Left asks the management API: the protocol does not tell what others hold. This list is
// younger than what the API has of a single queue.
func (r rabbit) Left(ctx context.Context, topic string) (int, error) {
	base := os.Getenv("HEADRACE_TEST_RABBITMQ_MANAGEMENT")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/queues/%2F?disable_stats=true&enable_queue_totals=true", nil)
	if err != nil {
		return 0, err
	}
	once := &http.Transport{DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: once}).Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var queues []struct {
		Name     string
		Messages *int
	}
	if err := json.NewDecoder(answer.Body).Decode(&queues); err != nil {
		return 0, fmt.Errorf("the management API answers %s: %w", answer.Status, err)
	}
	for _, q := range queues {
		if q.Name == topic && q.Messages != nil {
			return *q.Messages, nil
		}
	}
	return 0, fmt.Errorf("the management API does not know the queue %s yet", topic)
}

// Send implements brokertest.Broker: amqp-publish for a sender that sets nothing, and the
// plain client library for message-ids, which amqp-publish cannot set.
func (r rabbit) Send(ctx context.Context, topic string, records ...brokertest.Record) error {
	if len(records) == 1 && records[0].ID == "" && len(records[0].Payload) > 0 {
		return amqpPublish(ctx, topic, records[0])
	}
	all := make([]amqp091.Publishing, len(records))
	for i, rec := range records {
		all[i] = amqp091.Publishing{MessageId: rec.ID, Body: rec.Payload, Headers: amqp091.Table{}, DeliveryMode: amqp091.Persistent}
		for name, value := range rec.Headers {
			all[i].Headers[name] = value
		}
	}
	return publish(ctx, topic, all...)
}

// Read implements brokertest.Broker.
func (r rabbit) Read(ctx context.Context, topic string) (read brokertest.Record, err error) {
	err = plain(ctx, func(ch *amqp091.Channel) error {
		for {
			d, found, err := ch.Get(topic, true)
			if err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			if !found {
				time.Sleep(20 * time.Millisecond) // nothing signals it
				continue
			}
			read = brokertest.Record{ID: d.MessageId, Payload: d.Body, Headers: map[string]string{}}
			for name, value := range d.Headers {
				read.Headers[name] = fmt.Sprint(value)
			}
			return nil
		}
	})
	return read, err
}

func amqpPublish(ctx context.Context, topic string, rec brokertest.Record) error {
	args := []string{"--url=" + strings.TrimSuffix(os.Getenv("HEADRACE_TEST_RABBITMQ"), "/"), "--exchange=", "--routing-key=" + topic, "--persistent"}
	for name, value := range rec.Headers {
		args = append(args, "--header="+name+": "+value)
	}
	cmd := exec.CommandContext(ctx, "amqp-publish", args...)
	cmd.Stdin = strings.NewReader(string(rec.Payload))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("amqp-publish: %w: %s", err, out)
	}
	return nil
}

// publish publishes with the plain client, and waits for the confirmations.
func publish(ctx context.Context, topic string, all ...amqp091.Publishing) error {
	return plain(ctx, func(ch *amqp091.Channel) error {
		if err := ch.Confirm(false); err != nil {
			return err
		}
		for from := 0; from < len(all); from += 500 {
			var waits []*amqp091.DeferredConfirmation
			for _, p := range all[from:min(from+500, len(all))] {
				c, err := ch.PublishWithDeferredConfirm("", topic, true, false, p)
				if err != nil {
					return err
				}
				waits = append(waits, c)
			}
			for _, c := range waits {
				if ok, err := c.WaitContext(ctx); err != nil || !ok {
					return fmt.Errorf("not confirmed: %v", err)
				}
			}
		}
		return nil
	})
}

// plain runs f on a channel of the plain client.
func plain(_ context.Context, f func(*amqp091.Channel) error) error {
	conn, err := amqp091.Dial(os.Getenv("HEADRACE_TEST_RABBITMQ"))
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	return f(ch)
}

// hostile is what senders do with headers that a Watermill program would not. All of it
// is applied, unless the id itself cannot be read.
var hostile = []brokertest.Hostile{
	headers("x-death", amqp091.Table{"x-death": []any{
		amqp091.Table{"count": int64(3), "reason": "rejected", "queue": "q", "time": time.Unix(1700000000, 0), "routing-keys": []any{"k"}},
	}}),
	headers("numbers", amqp091.Table{"x-delivery-count": int64(7), "b": true, "f": 1.5, "i": int32(-1), "u": byte(255), "d": amqp091.Decimal{Scale: 2, Value: 1}}),
	headers("bytes", amqp091.Table{"bytes": []byte{0, 0xff}, "text": "\xff\x00"}),
	headers("nothing", amqp091.Table{"nil": nil, "": "empty name", "time": time.Unix(-1<<40, 0)}),
	headers("forged", amqp091.Table{amqp.RedeliveredKey: "true", amqp.ExchangeKey: "forged", "headrace-unreadable-headers": "text"}),
	{Name: "id that is a number", Send: func(ctx context.Context, topic string, body []byte) error {
		return publish(ctx, topic, amqp091.Publishing{MessageId: "number-" + topic, Body: body, Headers: amqp091.Table{"_watermill_message_uuid": int64(7)}})
	}},
	{Name: "headers nested too deeply", Undecodable: true, Send: func(ctx context.Context, topic string, body []byte) error {
		inner := amqp091.Table{}
		for range 40 {
			inner = amqp091.Table{"n": inner}
		}
		return publish(ctx, topic, amqp091.Publishing{MessageId: "deep-" + topic, Body: body, Headers: inner})
	}},
}

func headers(name string, h amqp091.Table) brokertest.Hostile {
	return brokertest.Hostile{Name: name, Send: func(ctx context.Context, topic string, body []byte) error {
		return publish(ctx, topic, amqp091.Publishing{MessageId: name + "-" + topic, Body: body, Headers: h})
	}}
}
