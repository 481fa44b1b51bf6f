package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
)

// The consumer and its topic. They are part of the keys that the database knows, and never change.
const (
	consumerName = "billing"
	topic        = "orders.paid"
)

// policy is short so that the test is: a real one goes on for hours.
var policy = retry.Policy{
	MaxAttempts: 8,
	Immediate:   1,
	Backoff:     retry.Backoff{Initial: 50 * time.Millisecond, Max: time.Second, Factor: 2, Jitter: 0.2},
}

// run does everything: orders in, invoices out, and the figures.
func run(ctx context.Context, o options, stdin io.Reader, stdout io.Writer, stderr *os.File) (err error) {
	webhooks, closeInput, err := openStream(o, stdin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeInput()) }()
	db, err := openDatabase(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	m, err := serveMetrics(ctx, o.metrics, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	s, err := newSession(ctx, db, webhooks, o, stderr, m)
	if err != nil {
		return err
	}
	outcome := s.work(ctx)
	if errors.Is(outcome, errInterrupted) {
		outcome = fmt.Errorf("%w; %s", outcome, o.afterInterrupt())
	}
	// The figures are wanted all the more after a Ctrl-C.
	r, err := conclude(context.WithoutCancel(ctx), db)
	if err != nil {
		return errors.Join(outcome, err)
	}
	if err := r.print(stdout, o.json); err != nil {
		return errors.Join(outcome, err)
	}
	if err := r.verdict(); err != nil {
		return err // graver than how the work ended, which the figures show too
	}
	return outcome
}

func openStream(o options, stdin io.Reader) (stream, func() error, error) {
	switch o.in {
	case "":
		return newGenerator(o.n, o.seed), func() error { return nil }, nil
	case "-":
		return newInput(stdin, "standard input"), func() error { return nil }, nil
	}
	f, err := os.Open(o.in)
	if err != nil {
		return nil, nil, fmt.Errorf("the input: %w", err)
	}
	// A directory opens, and says only when it is read that it is one: too late, there would be figures by then.
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, nil, errors.Join(fmt.Errorf("the input: %s is a directory; give a file of JSON lines", o.in), f.Close())
	}
	return newInput(f, o.in), f.Close, nil
}

// session is one run of the program.
type session struct {
	db       *database
	journal  *journal
	source   *source
	consumer *consumer.Consumer
	progress progress
	// hold keeps the consumer running after its work; nil does not.
	hold func(ctx context.Context, ended <-chan error) (consumerEnded bool, err error)
}

func newSession(ctx context.Context, db *database, webhooks stream, o options, stderr *os.File, m *metrics) (*session, error) {
	j, err := openJournal(ctx, db.journal)
	if err != nil {
		return nil, err
	}
	orphans, err := j.others(ctx)
	if err != nil {
		j.close()
		return nil, err
	}
	s := &session{db: db, journal: j}
	total := 0
	if o.in == "" {
		total = o.n
	}
	s.source = newSource(webhooks, j, slices.Collect(maps.Keys(orphans)))
	s.progress = startProgress(stderr, s.source, total)
	level := slog.LevelError
	if o.log {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(s.progress, &slog.HandlerOptions{Level: level}))
	s.source.log = log
	if o.hold {
		s.hold = func(ctx context.Context, ended <-chan error) (bool, error) { return hold(ctx, ended, s.progress) }
	}
	s.consumer, err = newConsumer(db, s.source, sink{j}, log, m.meter(), o.in == "")
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// newConsumer wires headrace. The tests call it too, with a broker and a sink of consumertest.
func newConsumer(st store.Store, src message.Subscriber, out message.Publisher, log *slog.Logger, meter metric.MeterProvider, simulate bool) (*consumer.Consumer, error) {
	c, err := consumer.New(consumerName, st, consumer.Config{
		Source: src, Sink: out,
		Key: keyOf(), SameWhen: fingerprintOf(), OrderKey: orderKeyOf,
		Retry: policy, Logger: log,
		MaxInFlight: maxInFlight, MeterProvider: meter,
	})
	if err != nil {
		return nil, err
	}
	handle := writeInvoice
	if simulate {
		handle = withFaults(writeInvoice)
	}
	consumer.Handle(c, topic, handle)
	return c, nil
}

// work runs the consumer until everything is settled, or ctx ends.
func (s *session) work(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.consumer.Run(running) }() // received from below, in every case
	w := newWait(s)
	err := w.settled(ctx, ended)
	if err == nil && s.hold != nil {
		w.consumerEnded, err = s.hold(ctx, ended)
	}
	stop()
	if !w.consumerEnded {
		err = errors.Join(err, <-ended)
	}
	return errors.Join(err, s.stop(), s.source.err())
}

// stop ends the source, then the journal that it writes to, then the progress.
func (s *session) stop() error {
	err := s.source.Close()
	s.journal.close()
	s.progress.stop()
	return err
}
