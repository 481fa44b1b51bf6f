package amqp_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/consumer"
)

// Rule: an amqps URL speaks TLS, with the authorities that Server.TLS names, and a server
// that they do not know is refused. The test ends TLS before the real server.
func TestTLS(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Quorum, nil)
	addr, authorities := b.terminate()
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

// terminate ends TLS before the broker until the test ends. The certificate is that of
// httptest, for 127.0.0.1.
func (b *bundle) terminate() (addr string, authorities *x509.CertPool) {
	b.Helper()
	known := httptest.NewUnstartedServer(nil)
	known.StartTLS()
	certificate := known.TLS.Certificates[0]
	authorities = x509.NewCertPool()
	authorities.AddCert(known.Certificate())
	known.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	b.must(err)
	b.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go b.forward(conn)
		}
	}()
	return listener.Addr().String(), authorities
}

func (b *bundle) forward(conn net.Conn) {
	defer conn.Close()
	server, err := net.Dial("tcp", rabbit{}.Addr())
	if err != nil {
		return
	}
	defer server.Close()
	go func() { // ends with either
		_, _ = io.Copy(server, conn)
		_ = server.Close()
	}()
	_, _ = io.Copy(conn, server)
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
