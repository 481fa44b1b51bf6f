package postgres_test

import (
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/postgres"
	"github.com/headrace/headrace/consumer"
)

// A role with a password sends and receives over TLS; it is refused without TLS, and a
// server that no authority knows is not accepted.
func TestTLSAndUser(t *testing.T) {
	setup(t)
	c, dir, err := newCluster(t)
	if err != nil {
		t.Skip(err)
	}
	s := server{c.DSN("postgres")}
	if err := s.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	authority := secure(t, s, filepath.Join(dir, "data"))
	dsn := fmt.Sprintf("postgres://teller:secret@%s/postgres?sslmode=verify-full&connect_timeout=5", c.Addr())
	db := awaitDB(t, dsn+"&sslrootcert="+authority)
	from, err := postgres.NewSource(postgres.SourceOptions{DB: db, Schema: schema, Group: group})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	if err := from.Check(t.Context(), "topic", consumer.Demands{InFlight: 8}); err != nil {
		t.Fatal(err)
	}
	messages, err := from.Subscribe(t.Context(), "topic")
	if err != nil {
		t.Fatal(err)
	}
	to, err := postgres.NewSink(postgres.SinkOptions{DB: db, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	if err := to.Publish("topic", message.NewMessage("1", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	m := next(t, messages)
	if m.UUID != "1" {
		t.Errorf("got %q", m.UUID)
	}
	m.Ack()
	brokertest.AwaitHealthy(t, from, "topic", true)
	refused(t, "an unknown server", dsn)
	refused(t, "no TLS", fmt.Sprintf("postgres://teller:secret@%s/postgres?sslmode=disable", c.Addr()))
	refused(t, "a wrong password", fmt.Sprintf("postgres://teller:wrong@%s/postgres?sslmode=verify-full&sslrootcert=%s", c.Addr(), authority))
}

func refused(t *testing.T, what, dsn string) {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.PingContext(t.Context()); err == nil {
		t.Errorf("%s is accepted", what)
	} else {
		t.Logf("%s: %v", what, err)
	}
}

// secure has the server of s, whose files are in data, take the role teller over TLS only. It
// returns the file of the authority.
func secure(t *testing.T, s server, data string) (authority string) {
	t.Helper()
	certificate, _ := brokertest.Certificate()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	authority = filepath.Join(data, "own.crt")
	for name, content := range map[string][]byte{
		authority:                          pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}),
		filepath.Join(data, "own.key"):     pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		filepath.Join(data, "pg_hba.conf"): []byte("host all postgres all trust\nhostssl all teller all scram-sha-256\n"),
	} {
		if err := errors.Join(os.WriteFile(name, content, 0o600), os.Chown(name, int(owner.Uid), int(owner.Gid))); err != nil {
			t.Fatal(err)
		}
	}
	err = s.with(func(db *sql.DB) error {
		for _, statement := range []string{
			`CREATE ROLE teller LOGIN PASSWORD 'secret'`, `GRANT USAGE ON SCHEMA ` + schema + ` TO teller`,
			`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ` + schema + ` TO teller`,
			`GRANT USAGE ON ALL SEQUENCES IN SCHEMA ` + schema + ` TO teller`,
			`ALTER SYSTEM SET ssl_cert_file = 'own.crt'`, `ALTER SYSTEM SET ssl_key_file = 'own.key'`, `ALTER SYSTEM SET ssl = on`, `SELECT pg_reload_conf()`,
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

// awaitDB connects as soon as the server takes the connection.
func awaitDB(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := db.PingContext(t.Context())
		if err == nil {
			return db
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
