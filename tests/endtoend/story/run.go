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
)

// The consumer of package billing, and its topics. They are part of the keys that the database knows, and never change.
const (
	consumerName  = "billing"
	topic         = "orders.paid"
	confirmations = "confirmations"
)

// run does everything: orders in, invoices out, and the figures.
func run(ctx context.Context, p Program, o options, stdin io.Reader, stdout io.Writer, stderr *os.File) (err error) {
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
	outcome := s.work(ctx, p)
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
	if err := r.violations(); err != nil {
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
	world    World
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
		s.hold = func(ctx context.Context, ended <-chan error) (bool, error) { return hold(ctx, ended, o.db, s.progress) }
	}
	s.world = World{
		Store: db, Source: s.source, Sink: sink{j}, Orders: topic, Confirmations: confirmations,
		Logger: log, Meters: m.meter(), MaxInFlight: maxInFlight, simulate: o.in == "",
	}
	return s, nil
}

// work runs the program until everything is settled, or ctx ends.
func (s *session) work(ctx context.Context, p Program) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- p(running, s.world) }() // received from below, in every case
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
