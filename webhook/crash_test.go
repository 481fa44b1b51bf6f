package webhook_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/webhook"
)

// childVariable holds the orders of a process that receives webhooks until it is killed.
const childVariable = "HEADRACE_WEBHOOK_TEST_CHILD"

// orders tell a child what to do.
type orders struct {
	SQLite, DSN, Schema string
	// Kill is the point at which the process kills itself; "" for none.
	Kill fault.Point
}

func (o orders) open(ctx context.Context) (store.Store, error) {
	if o.SQLite != "" {
		return sqlite.Open(ctx, o.SQLite, sqlite.Options{})
	}
	return postgres.Open(ctx, o.DSN, postgres.Options{Schema: o.Schema})
}

// child serves as its orders say until its input ends.
func child() {
	var o orders
	err := json.Unmarshal([]byte(os.Getenv(childVariable)), &o)
	if err == nil {
		err = o.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (o orders) run() error {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	st, err := o.open(ctx)
	if err != nil {
		return err
	}
	killed := fault.Store(st, func(p fault.Point) error {
		if p == o.Kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
	c, err := consumer.New("test", killed, consumer.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	hooks := webhook.NewSource(quiet())
	endpoint := hooks.Endpoint("stripe", webhook.Stripe(secret))
	consumer.Handle(c, "stripe", insert, consumer.From(hooks))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: endpoint, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	go func() {
		for c.Ready() != nil && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Println(listener.Addr())
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return c.Run(ctx)
}

// process is a running child.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	url   string
}

func (f *fixture) process(kill fault.Point) *process {
	f.Helper()
	o := f.where
	o.Kill = kill
	text, err := json.Marshal(o)
	if err != nil {
		f.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	cmd := exec.CommandContext(f.Context(), self, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		f.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		f.Fatalf("the child gave no address: %v", errors.Join(err, cmd.Wait()))
	}
	return &process{cmd: cmd, stdin: stdin, url: "http://" + strings.TrimSpace(address)}
}

// end waits for the process, and reports whether it was killed.
func (p *process) end() bool {
	_ = p.stdin.Close()
	var exit *exec.ExitError
	err := p.cmd.Wait()
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// The process dies before the commit, or between the commit and the answer. The sender has
// no answer, and its repetition gets 200; the event has one effect.
//
//evidence:webhook
func TestKilledBeforeAnswer(t *testing.T) {
	for point, before := range map[fault.Point]int{fault.BeforeCommit: 0, fault.AfterCommit: 1} {
		t.Run(string(point), func(t *testing.T) {
			onEachStore(t, func(f *fixture) {
				signed := map[string]string{"Stripe-Signature": stripe(secret, event("1"), time.Now())}
				p := f.process(point)
				if code, err := request(f.Context(), p.url, event("1"), signed); err == nil {
					f.Errorf("a killed process answered %d", code)
				}
				if !p.end() {
					f.Error("the process was not killed")
				}
				f.effects(before)
				p = f.process("")
				for range 2 {
					if got := send(f.T, p.url, event("1"), signed); got != 200 {
						f.Errorf("the repetition: %d", got)
					}
				}
				if p.end() {
					f.Error("the second process was killed too")
				}
				f.effects(1)
			})
		})
	}
}
