package brokertest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/store/sqlite"
)

// orders tell a child what to do.
type orders struct {
	Path, Topic string
	// At is the point where the child kills itself, the Nth time that it reaches it.
	At  fault.Point
	Nth int64
}

// child consumes until it kills itself.
func child(b Broker, text string) error {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), waitTimeout)
	defer stop()
	st, err := sqlite.Open(ctx, o.Path, sqlite.Options{})
	if err != nil {
		return err
	}
	source, err := b.Source("")
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	c, err := newConsumer(fault.Store(st, o.hook()), config(b.Features(), fault.Subscriber(source, o.hook()), log), o.Topic, o.handle)
	if err != nil {
		return err
	}
	return errors.Join(c.Run(ctx), errors.New("the child did not reach the point"))
}

var visits atomic.Int64

// come runs at each point.
func (o orders) come(p fault.Point) {
	if p == o.At && visits.Add(1) == o.Nth {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (o orders) hook() fault.Hook {
	return func(p fault.Point) error {
		o.come(p)
		return nil
	}
}

func (o orders) handle(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
	if err := apply(ctx, tx, m); err != nil {
		return err
	}
	o.come(fault.MidHandler)
	return nil
}

// killChild runs a child and waits until it has killed itself.
func (s *bundle) killChild(at fault.Point, nth int64) {
	s.Helper()
	text, err := json.Marshal(orders{Path: s.path, Topic: s.topic, At: at, Nth: nth})
	if err != nil {
		s.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL && ctx.Err() == nil {
		return
	}
	s.Fatalf("the child was to be killed %s: %v: %s", at, err, out)
}

// killed kills a process (SIGKILL) in a handler, between commit and acknowledgement, and
// between two acknowledgements. The next process continues (faults 1 and 2). Each effect
// exists once.
func killed(s *bundle) {
	const n = 60
	s.sendNumbers(1, n)
	s.killChild(fault.MidHandler, 3)
	s.killChild(fault.AfterCommit, 1)
	s.killChild(fault.BeforeAck, 2)
	s.work("", apply)
	s.appliedOnce(n)
	s.undecodable(0)
}
