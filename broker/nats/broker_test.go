package nats_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/nats"
)

// variable names the server.
const variable = "HEADRACE_TEST_NATS"

// server is the real NATS server, with plain nats.go as the foreign client.
type server struct{ url string }

var _ brokertest.Broker = server{}

func TestMain(m *testing.M) {
	// The client starts it with the first publish, and it waits for ever where the connection has ended before it
	// has read its channel.
	const reset = "github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"
	brokertest.Main(m, server{os.Getenv(variable)}, goleak.IgnoreAnyFunction(reset))
}

//evidence:nats
func TestConformance(t *testing.T) {
	brokertest.Variable(t, variable, "nats")
	brokertest.Run(t, server{os.Getenv(variable)})
}

// Features implements brokertest.Broker.
func (s server) Features() brokertest.Features {
	return brokertest.Features{
		Name: "nats", Redelivery: time.Second, InFlight: 256, Ordered: true, TooLarge: 2 << 20, Hostile: s.hostile(),
		Restart: func(ctx context.Context) error { return brokertest.Restart(ctx, "nats") },
		Delete: func(ctx context.Context, topic string) error {
			return s.with(func(js jetstream.JetStream) error { return js.DeleteStream(ctx, topic) })
		},
	}
}

// Create implements brokertest.Broker.
func (s server) Create(ctx context.Context, topic string) error {
	return s.with(func(js jetstream.JetStream) error {
		_, err := js.CreateStream(ctx, stream(topic))
		return err
	})
}

func stream(topic string) jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: topic, Subjects: []string{topic}, Storage: jetstream.FileStorage, MaxAge: time.Hour}
}

// with connects for f.
func (s server) with(f func(jetstream.JetStream) error) error {
	nc, err := natsgo.Connect(s.url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	return f(js)
}

// at is where addr leads to.
func (s server) at(addr string) string {
	u, err := url.Parse(s.url)
	if addr == "" || err != nil {
		return s.url
	}
	u.Host = addr
	return u.String()
}

// Source implements brokertest.Broker.
func (s server) Source(addr string) (message.Subscriber, error) {
	return nats.NewSource(nats.SourceOptions{
		Server: nats.Server{URL: s.at(addr)}, Durable: "suite", AckWait: time.Second, NackDelay: 200 * time.Millisecond,
	})
}

// Sink implements brokertest.Broker.
func (s server) Sink(addr string) (message.Publisher, error) {
	return nats.NewSink(nats.SinkOptions{Server: nats.Server{URL: s.at(addr)}, PublishTimeout: 3 * time.Second})
}

// Send implements brokertest.Broker with core NATS and JetStream's acknowledgement.
func (s server) Send(ctx context.Context, topic string, records ...brokertest.Record) error {
	return s.with(func(js jetstream.JetStream) error {
		for _, r := range records {
			m := natsgo.NewMsg(topic)
			m.Data = r.Payload
			for name, value := range r.Headers {
				m.Header.Set(name, value)
			}
			if r.ID != "" {
				m.Header.Set(natsgo.MsgIdHdr, r.ID)
			}
			if _, err := js.PublishMsg(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// Read implements brokertest.Broker.
func (s server) Read(ctx context.Context, topic string) (r brokertest.Record, err error) {
	err = s.with(func(js jetstream.JetStream) error {
		c, err := js.CreateOrUpdateConsumer(ctx, topic, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
		if err != nil {
			return err
		}
		m, err := c.Next(jetstream.FetchContext(ctx))
		if err != nil {
			return err
		}
		r = brokertest.Record{ID: m.Headers().Get(natsgo.MsgIdHdr), Payload: m.Data(), Headers: map[string]string{}}
		for name := range m.Headers() {
			r.Headers[name] = m.Headers().Get(name)
		}
		return nil
	})
	return r, err
}

// Left implements brokertest.Broker.
func (s server) Left(ctx context.Context, topic string) (left int, err error) {
	err = s.with(func(js jetstream.JetStream) error {
		st, err := js.Stream(ctx, topic)
		if err != nil {
			return err
		}
		consumers := 0
		for name := range st.ConsumerNames(ctx).Name() {
			consumers++
			c, err := st.Consumer(ctx, name)
			if err != nil {
				return err
			}
			info := c.CachedInfo()
			left += int(info.NumPending) + info.NumAckPending
		}
		if consumers == 0 {
			return errors.New("the topic has no consumer")
		}
		return nil
	})
	return left, err
}

// Addr implements brokertest.Broker.
func (s server) Addr() string {
	u, err := url.Parse(s.url)
	if err != nil {
		return ""
	}
	return u.Host
}

// hostile are the traps of package jetstream and of watermill-nats (TRAPS, "Adapters").
func (s server) hostile() []brokertest.Hostile {
	headers := func(name string, h natsgo.Header) brokertest.Hostile {
		return brokertest.Hostile{Name: name, Send: func(ctx context.Context, topic string, body []byte) error {
			return s.with(func(js jetstream.JetStream) error {
				_, err := js.PublishMsg(ctx, &natsgo.Msg{Subject: topic, Data: body, Header: h})
				return err
			})
		}}
	}
	return []brokertest.Hostile{
		headers("repeated header", natsgo.Header{"X-Trace": {"a", "b"}, "_watermill_message_uuid": {"one", "two"}}),
		headers("empty id", natsgo.Header{"_watermill_message_uuid": {""}, natsgo.MsgIdHdr: {"by-sender"}}),
		headers("not UTF-8", natsgo.Header{"X-Bin": {"\xff\xfe"}}),
		headers("our own, forged", natsgo.Header{"Headrace-Metadata": {"[[not json"}}),
		headers("status", natsgo.Header{"Status": {"409"}, "Description": {"Consumer Deleted"}}),
		{Name: "unreadable headers", Send: s.sendRaw("NATS/1.0\r\nno colon\r\n\r\n")},
		{Name: "another protocol's headers", Send: s.sendRaw("HTTP/1.1 200 OK\r\n\r\n")},
		{Name: "status without payload", Undecodable: true, Send: func(ctx context.Context, topic string, _ []byte) error {
			return headers("", natsgo.Header{"Status": {"409"}, "Description": {"Consumer Deleted"}}).Send(ctx, topic, nil)
		}},
		{Name: "nothing at all", Undecodable: true, Send: func(ctx context.Context, topic string, _ []byte) error {
			return headers("", nil).Send(ctx, topic, nil)
		}},
	}
}
