package nats_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/nats"
	"github.com/headrace/headrace/consumer"
)

// users is a server of the test's own, whose users have permissions.
type users struct {
	addr string
	file string
	more string // further lines of the file
	cmd  *exec.Cmd
}

const usersFile = `listen: "127.0.0.1:-1"
%s
jetstream { store_dir: %q }
authorization { users: [
  { user: admin, password: p },
  %s
] }
`

// write has the server's users as said.
func (u *users) write(t *testing.T, entries ...string) {
	t.Helper()
	text := fmt.Sprintf(usersFile, u.more, filepath.Join(filepath.Dir(u.file), "data"), strings.Join(entries, "\n  "))
	if err := os.WriteFile(u.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if u.cmd != nil {
		if err := u.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
}

func (u *users) server(user string) server { return server{"nats://" + user + ":p@" + u.addr} }

var listening = regexp.MustCompile(`Listening for client connections on (\S+)`)

// startUsers starts it, and stops it when the test ends.
func startUsers(t *testing.T, entries ...string) *users { return startUsersWith(t, "", entries...) }

func startUsersWith(t *testing.T, more string, entries ...string) *users {
	t.Helper()
	brokertest.Variable(t, variable, "nats") // where that is not wanted, this is neither
	dir := t.TempDir()
	u := &users{file: filepath.Join(dir, "conf"), more: more}
	u.write(t, entries...)
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", filepath.Join(dir, "natsd"), "github.com/headrace/headrace/tests/natsd")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(filepath.Join(dir, "natsd"), "-c", u.file)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	u.cmd = cmd
	ready, ended := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				u.addr = found[1]
			}
			if strings.Contains(lines.Text(), "Server is ready") {
				ready <- true
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = cmd.Wait()
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatal("the server has ended")
	case <-time.After(time.Minute):
		t.Fatal("the server does not start")
	}
	return u
}

// lines are what was logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// wait waits until all of what was logged.
func (l *lines) wait(t *testing.T, what ...string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		missing := ""
		for _, w := range what {
			if !strings.Contains(text, w) {
				missing = w
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q was not logged:\n%s", missing, text)
		}
	}
}

// The permissions that doc.go lists are enough, and without one of the two that the
// server says nothing about, Check and Subscribe do. Guards: Source.permitted,
// Server.complaints, subscription.expired, subscription.confirmed.
func TestPermissions(t *testing.T) {
	t.Parallel()
	const inbox = `subscribe: ["_INBOX.>"]`
	sender := `{ user: sink, password: p, permissions: { publish: ["t", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.s"], ` + inbox + ` } },`
	receiver := func(name string, publish ...string) string {
		publish = append(publish, "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.s", "$JS.API.CONSUMER.INFO.s.d_t", "$JS.API.CONSUMER.CREATE.s.d_t.t")
		return fmt.Sprintf(`{ user: %s, password: p, permissions: { publish: [%s], %s } },`, name, `"`+strings.Join(publish, `", "`)+`"`, inbox)
	}
	const next, acks = "$JS.API.CONSUMER.MSG.NEXT.s.d_t", "$JS.ACK.s.d_t.>"
	u := startUsers(t, sender, receiver("source", next, acks), receiver("noask", acks), receiver("noack", next))
	err := u.server("admin").with(func(js jetstream.JetStream) error {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "s", Subjects: []string{"t"}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	open := func(user string, l *slog.Logger) *nats.Source {
		return newSource(t, nats.SourceOptions{Server: nats.Server{URL: u.server(user).url, Logger: l}, Durable: "d", AckWait: 2 * time.Second})
	}
	for user, want := range map[string]string{"noask": "$JS.API.CONSUMER.MSG.NEXT", "noack": "$JS.ACK"} {
		if _, err := open(user, nil).Subscribe(t.Context(), "t"); err == nil || !strings.Contains(err.Error(), want) { // the consumer is made
			t.Errorf("%s: Subscribe gives %v", user, err)
		}
		if err := open(user, nil).Check(t.Context(), "t", consumer.Demands{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Check gives %v", user, err)
		}
	}
	sink := newSink(t, nats.SinkOptions{Server: nats.Server{URL: u.server("sink").url}})
	var logged lines
	source := open("source", logged.logger())
	if err := source.Check(t.Context(), "t", consumer.Demands{Deliveries: 10}); err != nil {
		t.Fatal(err)
	}
	messages, err := source.Subscribe(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Publish("t", message.NewMessage("1", nil), message.NewMessage("1", nil), message.NewMessage("2", nil)); err != nil {
		t.Fatal(err)
	}
	one(t, messages, time.Minute).Ack()
	held := one(t, messages, time.Minute)
	// The permissions are taken away while it runs.
	u.write(t, sender, receiver("source"))
	logged.wait(t, "NATS reports an error")
	held.Ack()
	logged.wait(t, "does not answer requests", "does not confirm an acknowledgement")
	u.write(t, sender, receiver("source", next, acks))
	one(t, messages, time.Minute).Ack()
	logged.wait(t, "gives messages again", "confirms acknowledgements again")
}

// Errors name the option, and no part of a password. Guard: withoutURL.
func TestPasswordIsInNoError(t *testing.T) {
	for _, url := range []string{
		"nats://billing:p%ssw0rd@127.0.0.1:1", "nats://billing:pass/w0rd@127.0.0.1:1", "nats://billing:pass,w0rd@127.0.0.1:1",
		"nats://127.0.0.1:1,nats://billing:ss w0rd@127.0.0.1:1%zz", "nats://billing:password@127.0.0.1:1", "ss:ss\nword",
	} {
		said := "option URL"
		s, source := nats.NewSource(nats.SourceOptions{Server: nats.Server{URL: url}, Durable: "d"})
		if source == nil { // the address is right, and the server away
			defer func() { _ = s.Close() }()
			source, said = s.Check(t.Context(), "t", consumer.Demands{}), "no connection"
		}
		k, sink := nats.NewSink(nats.SinkOptions{Server: nats.Server{URL: url}, PublishTimeout: 100 * time.Millisecond})
		if sink == nil {
			defer func() { _ = k.Close() }()
			sink = k.Publish("t", message.NewMessage("1", nil))
		}
		for _, err := range []error{source, sink} {
			if err == nil || !strings.Contains(err.Error(), said) && !errors.Is(err, context.DeadlineExceeded) || strings.Contains(strings.ReplaceAll(err.Error(), "password,", ""), "ss") {
				t.Errorf("error %v", err)
			}
		}
	}
}
