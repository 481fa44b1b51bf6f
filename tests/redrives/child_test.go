package redrives

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// role is the variable that makes this program a process of the consumer.
const role = "HEADRACE_REDRIVES_CHILD"

// place is a database.
type place struct{ DSN, Schema, File string }

func (p place) open(ctx context.Context, migrate bool) (interface {
	store.Store
	store.Checker
	io.Closer
}, error) {
	if p.File != "" {
		return sqlite.Open(ctx, p.File, sqlite.Options{Migrate: migrate})
	}
	return postgres.Open(ctx, p.DSN, postgres.Options{Schema: p.Schema, Migrate: migrate, MaxConns: 8})
}

// effects is the table of effects.
func (p place) effects() string {
	if p.File != "" {
		return "effects"
	}
	return `"` + p.Schema + `".effects`
}

func TestMain(m *testing.M) {
	if text := os.Getenv(role); text != "" {
		if err := child(text); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// fails says which messages fail each time.
func fails(key string) bool { return strings.HasSuffix(key, "0") }

// child runs the consumer until the parent has ended.
func child(text string) error {
	var p place
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	st, err := p.open(ctx, false)
	if err != nil {
		return err
	}
	source := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	c, err := consumer.New(name, st, consumer.Config{Source: source, Key: inbox.MessageID(), Build: "v1", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	insert := "INSERT INTO " + p.effects() + " (key, n) VALUES ($1, $2)"
	consumer.Handle(c, handler, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[map[string]any]) error {
		if fails(m.Delivery.Key) {
			return retry.Permanent(errors.New("still broken"))
		}
		_, err := tx.ExecContext(ctx, insert, m.Delivery.Key, fmt.Sprint(m.Body["n"]))
		return err
	})
	return errors.Join(c.Run(ctx), st.Close())
}

// process is a child that runs.
type process struct {
	*exec.Cmd
	input io.Closer
}

// start starts a process of the consumer, which logs to dir.
func start(t *testing.T, p place, dir, id string) *process {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(dir, "process-"+id+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the child has its own
	c := &process{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), role+"="+string(text))
	c.Stdout, c.Stderr = log, log
	if c.input, err = c.StdinPipe(); err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kill kills it, and fails the test if it had ended by itself.
func (c *process) kill(t *testing.T) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Errorf("a process ended by itself: %v", err)
	}
	_ = c.Wait() // it was killed
}
