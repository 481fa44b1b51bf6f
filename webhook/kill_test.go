package webhook_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/webhook"
)

// childVariable holds the database of a process that kills itself between the commit of a
// message and the answer to its request.
const childVariable = "HEADRACE_WEBHOOK_TEST_CHILD"

var errAway = errors.New("the database is away")

func githubSign(body string) string {
	mac := hmac.New(sha256.New, []byte(githubSecret))
	_, _ = mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func githubBodyOf(n int) string { return fmt.Sprintf(`{"n":%d}`, n) }

// onFile is onEachStore on SQLite alone.
func onFile(t *testing.T, f func(f *fixture)) {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	f(&fixture{T: t, st: st, db: st.DB()})
}

// child serves webhooks, says where, and dies after the commit of the first.
func child() {
	if err := serveChild(os.Getenv(childVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func open(ctx context.Context, place string) (store.Store, error) {
	if schema, dsn, ok := strings.Cut(place, " "); ok {
		return postgres.Open(ctx, dsn, postgres.Options{Schema: schema, Migrate: true})
	}
	return sqlite.Open(ctx, place, sqlite.Options{Migrate: true})
}

func serveChild(place string) error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	st, err := open(ctx, place)
	if err != nil {
		return err
	}
	hooks, err := webhook.NewSource(webhook.Options{Logger: quiet})
	if err != nil {
		return err
	}
	deadly := fault.Store(st, func(p fault.Point) error {
		if p == fault.AfterCommit {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
	c, err := consumer.New("shop", deadly, consumer.Config{Logger: quiet})
	if err != nil {
		return err
	}
	consumer.Handle(c, "orders", insert, consumer.From(hooks))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: hooks.Endpoint("orders", byHeader), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	go func() {
		for c.Ready() != nil {
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Println("http://" + listener.Addr().String())
	}()
	return c.Run(ctx)
}

// postToChild sends a webhook to a child, which dies before it answers.
func (f *fixture) postToChild(place string) {
	f.Helper()
	self, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	cmd := exec.CommandContext(f.Context(), self, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+place)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		f.Fatal("the child says nothing")
	}
	r, err := http.NewRequestWithContext(f.Context(), http.MethodPost, lines.Text(), strings.NewReader(`{"n":1}`))
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("X-Id", "a")
	if answer, err := client.Do(r); err == nil {
		_ = answer.Body.Close()
		f.Errorf("the child answered %s", answer.Status)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		f.Fatalf("the child ended with %v", err)
	}
}

// A process that dies between the commit and the answer leaves a sender without an answer:
// what it sends again is known.
//
//evidence:webhook-answer
func TestKilledBetweenCommitAndAnswer(t *testing.T) {
	kill := func(f *fixture, place string) {
		f.serve(webhook.Options{}, byHeader)
		f.postToChild(place)
		if got := f.effects(1); got != 1 {
			f.Fatalf("applied %d times by the child", got)
		}
		f.run()
		f.want("the repetition", f.post("a", `{"n":1}`), http.StatusOK)
		if got := f.effects(1); got != 1 {
			f.Errorf("applied %d times", got)
		}
	}
	t.Run("postgres", func(t *testing.T) {
		dsn, schema := pgtest.New(t)
		st, err := postgres.Open(t.Context(), dsn, postgres.Options{Schema: schema, Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		kill(&fixture{T: t, st: st, db: st.DB()}, schema+" "+dsn)
	})
	t.Run("sqlite", func(t *testing.T) {
		onFile(t, func(f *fixture) {
			var path string
			if err := f.db.QueryRowContext(f.Context(), "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path); err != nil {
				f.Fatal(err)
			}
			kill(f, path)
		})
	})
}
