package amqp_test

import (
	"crypto/tls"
	"net/url"
	"testing"
	"time"

	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/consumer"
)

// Rule: an amqps URL speaks TLS, with the authorities that Server.TLS names, and a server
// that they do not know is refused. The test ends TLS before the real server.
func TestTLS(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Quorum, nil)
	addr, authorities := brokertest.TerminateTLS(t, rabbit{}.Addr())
	server := b.server()
	u, err := url.Parse(server.URL)
	b.must(err)
	u.Scheme, u.Host = "amqps", addr
	server.URL, server.TLS = u.String(), &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
	b.must(b.sink(amqp.SinkOptions{Server: server}).Publish(b.queue, msg("1", "secret")))
	m := b.next(b.subscribe(b.source(amqp.SourceOptions{Server: server})))
	if m.UUID != "1" || !m.Ack() {
		t.Errorf("got %q", m.UUID)
	}
	server.TLS, server.Timeout = nil, time.Second
	if err := b.sink(amqp.SinkOptions{Server: server}).Publish(b.queue, msg("2", "secret")); err == nil {
		t.Error("published to a server that no authority knows")
	}
}

// Rule: the broker tells no retention, so what the user says is what the inbox is told.
func TestRetention(t *testing.T) {
	source, err := amqp.NewSource(amqp.SourceOptions{Server: amqp.Server{URL: anywhere}, KeptFor: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var told interface {
		consumer.Checker
		consumer.Pauser
		consumer.Redeliverer
		Retention() time.Duration
	} = source
	if got := told.Retention(); got != time.Hour {
		t.Errorf("Retention() = %s", got)
	}
}
