package kafka_test

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/kafka"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/freeport"
	"github.com/headrace/headrace/outbox/relay"
)

// A user with a password sends and receives over TLS, with SCRAM and with PLAIN. A wrong
// password and a server that no authority knows are refused, and not waited for.
func TestTLSAndUser(t *testing.T) {
	t.Parallel()
	need(t)
	at, open, authorities := secureServer(t)
	known := &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
	as := func(config *tls.Config, user sasl.Mechanism) []kgo.Opt {
		return []kgo.Opt{kgo.DialTLSConfig(config), kgo.SASL(user)}
	}
	for name, user := range map[string]sasl.Mechanism{
		"SCRAM": scram.Auth{User: "teller", Pass: "secret"}.AsSha256Mechanism(), "PLAIN": plain.Auth{User: "teller", Pass: "secret"}.AsMechanism(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := "secure-" + name
			if err := open.create(t.Context(), topic, 1); err != nil {
				t.Fatal(err)
			}
			sink := secureSink(t, at, as(known, user))
			if err := sink.Healthy(t.Context()); err != nil {
				t.Error(err)
			}
			if err := sink.Publish(topic, message.NewMessage("1", []byte("x"))); err != nil {
				t.Fatal(err)
			}
			source := secureSource(t, at, as(known, user))
			if err := source.Check(t.Context(), topic, consumer.Demands{InFlight: 8}); err != nil {
				t.Fatal(err)
			}
			messages, err := source.Subscribe(t.Context(), topic)
			if err != nil {
				t.Fatal(err)
			}
			m := <-messages
			if m.UUID != "1" || !m.Ack() {
				t.Errorf("got %q", m.UUID)
			}
			brokertest.AwaitHealthy(t, source, topic, true)
		})
	}
	for name, opts := range map[string][]kgo.Opt{
		"an unknown server": as(&tls.Config{MinVersion: tls.VersionTLS12}, plain.Auth{User: "teller", Pass: "secret"}.AsMechanism()),
		"a wrong password":  as(known, plain.Auth{User: "teller", Pass: "wr0ng"}.AsMechanism()),
		"a wrong SCRAM":     as(known, scram.Auth{User: "teller", Pass: "wr0ng"}.AsSha256Mechanism()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := secureSource(t, at, opts).Check(t.Context(), "secure", consumer.Demands{InFlight: 8})
			if err == nil || errors.Is(err, consumer.ErrUnavailable) || regexp.MustCompile("wr0ng|secret").MatchString(err.Error()) {
				t.Errorf("Check: %v", err)
			}
			if err := relay.HealthReporter(secureSink(t, at, opts)).Healthy(t.Context()); err == nil {
				t.Error("the sink is healthy")
			}
		})
	}
}

func secureSink(t *testing.T, at string, opts []kgo.Opt) *kafka.Sink {
	t.Helper()
	sink, err := kafka.NewSink(kafka.SinkOptions{Brokers: []string{at}, Client: opts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sink.Close() })
	return sink
}

func secureSource(t *testing.T, at string, opts []kgo.Opt) *kafka.Source {
	t.Helper()
	source, err := kafka.NewSource(kafka.SourceOptions{Brokers: []string{at}, Group: "secure", Client: opts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

// secureServer starts a server of the test's own. It takes the user teller over TLS at the
// address that is returned, whose certificate the authorities know, and any user at open.
func secureServer(t *testing.T) (at string, open server, authorities *x509.CertPool) {
	t.Helper()
	at, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	certificate, authorities := brokertest.Certificate()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "server.pem")
	text := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HEADRACE_SERVICES=native", "HEADRACE_SERVICES_DIR="+t.TempDir(), "HEADRACE_KAFKA_TLS="+at, "HEADRACE_KAFKA_PEM="+file)
	services := func(command string) ([]byte, error) {
		out, err := os.Create(filepath.Join(t.TempDir(), "out")) // a pipe would stay open while the server runs
		if err != nil {
			return nil, err
		}
		defer func() { _ = out.Close() }()
		cmd := exec.Command("../../scripts/services", command, "kafka")
		cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
		err = cmd.Run()
		said, _ := os.ReadFile(out.Name())
		return said, err
	}
	t.Cleanup(func() {
		if said, err := services("down"); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	})
	said, err := services("up")
	found := regexp.MustCompile(`kafka: ([0-9.:]+) `).FindSubmatch(said)
	if err != nil || found == nil {
		t.Fatalf("a server of its own: %v: %s", err, said)
	}
	open = server{addr: string(found[1]), group: "secure"}
	if err := open.client(func(c *kgo.Client) error { return addUser(t, c) }); err != nil {
		t.Fatal(err)
	}
	return at, open, authorities
}

// addUser gives the user teller its password for SCRAM.
func addUser(t *testing.T, c *kgo.Client) error {
	const rounds = 4096
	salt := []byte("0123456789abcdef")
	salted, err := pbkdf2.Key(sha256.New, "secret", salt, rounds, sha256.Size)
	if err != nil {
		return err
	}
	ask := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	user := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
	user.Name, user.Mechanism, user.Iterations, user.Salt, user.SaltedPassword = "teller", 1, rounds, salt, salted
	ask.Upsertions = append(ask.Upsertions, user)
	answer, err := ask.RequestWith(t.Context(), c)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.Results[0].ErrorCode)
}
