package story

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/headrace/headrace/store"
)

// workerVariable holds a worker's orders, in the environment because a DSN has secrets.
const workerVariable = "HEADRACE_ENDTOEND_WORKER"

// workerOrders are what a worker needs to know.
type workerOrders struct {
	Address  string `json:"address"`
	Topics   topics `json:"topics"`
	DB       string `json:"db,omitempty"`
	DSN      string `json:"dsn,omitempty"`
	Simulate bool   `json:"simulate"`
	Log      bool   `json:"log"`
}

// worker returns what consumes: this process, or as many others as the flags ask for.
func (r *over) worker(address string) func(context.Context) error {
	w := workerOrders{Address: address, Topics: r.topics, DB: r.db.file, DSN: r.o.dsn, Simulate: r.o.in == "", Log: r.o.log}
	if r.o.workers == 1 {
		return func(ctx context.Context) error { return work(ctx, r.program, r.conn, r.db, w, r.log) }
	}
	return func(ctx context.Context) error {
		var running sync.WaitGroup
		failed := make(chan error, r.o.workers)
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		for range r.o.workers {
			running.Go(func() {
				failed <- startWorker(ctx, w)
				stop()
			})
		}
		running.Wait()
		close(failed)
		var err error
		for f := range failed {
			err = errors.Join(err, f)
		}
		return err
	}
}

// startWorker runs this program as a worker until ctx ends. The worker ends with its
// standard input, and so with this process, however that ends.
func startWorker(ctx context.Context, w workerOrders) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), workerVariable+"="+string(marshal(w)))
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // received from below
	select {
	case err := <-ended:
		return fmt.Errorf("it ended by itself: %w", errors.Join(err, errWorker))
	case <-ctx.Done():
	}
	_ = input.Close()
	select {
	case err := <-ended:
		return err
	case <-time.After(queryTimeout):
		return errors.Join(errors.New("it did not end"), cmd.Process.Kill(), <-ended)
	}
}

var errWorker = errors.New("it was not told to")

// workerProcess is the process of one worker.
func workerProcess(b Broker, p Program, orders string, stdin io.Reader, stderr *os.File) int {
	var w workerOrders
	if err := json.Unmarshal([]byte(orders), &w); err != nil {
		fmt.Fprintf(stderr, "%s: worker: %s: %v\n", b.Name, workerVariable, err)
		return exitUsage
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, stdin)
		stop()
	}()
	log := newLog(stderr, w.Log)
	db, err := openDatabase(ctx, options{db: w.DB, dsn: w.DSN})
	if err == nil {
		err = errors.Join(work(ctx, p, b.Connect(w.Address, log), db, w, log), db.close())
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: worker: %v\n", b.Name, err)
		return exitFailed
	}
	return exitDone
}

// work runs p with a source and a sink of conn until ctx ends.
func work(ctx context.Context, p Program, conn Connection, st store.Store, w workerOrders, log *slog.Logger) (err error) {
	source, err := conn.Source(workersGroup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	sink, err := conn.Sink()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	return p(ctx, World{
		Store: st, Source: source, Sink: sink, Orders: w.Topics.Orders, Confirmations: w.Topics.Confirmations,
		Logger: log, simulate: w.Simulate,
	})
}
