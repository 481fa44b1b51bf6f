package nats_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/nats"
)

// A user with a password sends and receives over TLS, and an unknown server is refused.
func TestTLSAndUser(t *testing.T) {
	certificate, authorities := brokertest.Certificate()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, block := range map[string]*pem.Block{
		"cert": {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}, "key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := startUsersWith(t, fmt.Sprintf("tls { cert_file: %q, key_file: %q }", filepath.Join(dir, "cert"), filepath.Join(dir, "key")))
	at := nats.Server{
		URL:     u.server("admin").url,
		Options: []natsgo.Option{natsgo.Secure(&tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12})},
	}
	const topic = "tls"
	sink, err := nats.NewSink(nats.SinkOptions{Server: at, Provision: func(topic string) jetstream.StreamConfig {
		return jetstream.StreamConfig{Name: topic, Subjects: []string{topic}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	if err := sink.Publish(topic, message.NewMessage("1", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	source, err := nats.NewSource(nats.SourceOptions{Server: at, Durable: "d"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	messages, err := source.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case m := <-messages:
		if m.UUID != "1" {
			t.Errorf("got %q", m.UUID)
		}
		m.Ack()
	case <-time.After(time.Minute):
		t.Fatal("no message comes")
	}
	if conn, err := natsgo.Connect(at.URL); err == nil {
		conn.Close()
		t.Error("a server that no authority knows is accepted")
	}
}
