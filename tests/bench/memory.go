package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/outbox/relay"
)

// childVariable says in a child process what it has to do.
const childVariable = "HEADRACE_BENCH_CHILD"

// A child process shows how much memory the work takes by itself: it measures
// nothing else, and keeps no list of what it saw.
type assignment struct {
	Work string `json:"work"` // a key of children
	DSN  string `json:"dsn"`
	Rows int    `json:"rows"`
	// Letters is for the work "redrive", Workers for "kafka", Restarting for "restarting".
	Letters    dlq.Filter  `json:"letters,omitzero"`
	Workers    *workers    `json:"workers,omitempty"`
	Restarting *restarting `json:"restarting,omitempty"`
}

func memoryPart() []benchmark {
	const million = 1_000_000
	return []benchmark{
		{
			part: "memory", name: "memory_drain", run: runChild("drain", million, outboxRows),
			says: "headrace: the most memory that a process of its own has resident while its relay publishes 1M waiting events",
		},
		{
			part: "memory", name: "memory_pass", run: runChild("pass", million, nil),
			says: "headrace: the most memory that a process of its own has resident while 1M messages pass through a batch handler",
		},
	}
}

// outboxRows fills the outbox.
func outboxRows(ctx context.Context, l *lab, rows int) (err error) {
	st, err := l.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return fill(ctx, st, rows)
}

func runChild(work string, rows int, before func(context.Context, *lab, int) error) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (figure Figure, err error) {
		rows := a.or(rows)
		if before != nil {
			if err := before(ctx, l, rows); err != nil {
				return Figure{}, err
			}
		}
		l.started()
		figure, err = startChild(ctx, assignment{Work: work, DSN: l.dsn, Rows: rows})
		l.ended()
		if err != nil {
			return Figure{}, fmt.Errorf("child: %w", err)
		}
		if work == "drain" {
			return figure, l.empty(ctx)
		}
		return figure, l.verify(ctx, "count_headrace", rows)
	}
}

// startChild runs this very program for the work, and returns the figure it prints.
func startChild(ctx context.Context, o assignment) (Figure, error) {
	program, err := os.Executable()
	if err != nil {
		return Figure{}, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return Figure{}, err
	}
	c := exec.CommandContext(ctx, program)
	c.Env = append(os.Environ(), childVariable+"="+string(text))
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return Figure{}, err
	}
	var figure Figure
	if err := json.Unmarshal(out, &figure); err != nil {
		return Figure{}, fmt.Errorf("read its figure: %w", err)
	}
	return figure, nil
}

// childMain is the child process: it works and prints its figure. It returns the
// exit status.
func childMain(ctx context.Context, text string) int {
	var o assignment
	err := json.Unmarshal([]byte(text), &o)
	var figure Figure
	if err == nil {
		figure, err = childWork(ctx, o)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(figure)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: child:", err)
		return 1
	}
	return 0
}

func childWork(ctx context.Context, o assignment) (Figure, error) {
	l, err := existingLab(o.DSN)
	if err != nil {
		return Figure{}, err
	}
	defer func() { _ = l.db.Close() }()
	var figure Figure
	switch o.Work {
	case "drain":
		figure, err = l.childDrain(ctx, o.Rows)
	case "pass":
		figure, err = l.childPass(ctx, o.Rows)
	case "restarting":
		figure, err = l.childRestarting(ctx, *o.Restarting)
	case "redrive":
		err = l.childRedrive(ctx, o)
	case "kafka":
		err = l.childWorker(ctx, *o.Workers)
	default:
		err = fmt.Errorf("unknown work %q", o.Work)
	}
	if err != nil {
		return Figure{}, err
	}
	figure.MaxRSS, err = maxRSS()
	return figure, err
}

func (l *lab) childDrain(ctx context.Context, rows int) (figure Figure, err error) {
	st, err := l.openStore(ctx)
	if err != nil {
		return Figure{}, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	out := newBitSink(rows)
	r, err := relay.New(st, out, relay.Options{SinkID: "bench"})
	if err != nil {
		return Figure{}, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	watch := l.startWatch(ctx)
	go func() { ended <- r.Run(running) }()
	select {
	case <-out.all:
		err = l.empty(ctx)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	figure = watch.figure(ctx, rows, &histogram{})
	stop()
	return figure, errors.Join(err, <-ended, out.verify())
}

func (l *lab) childPass(ctx context.Context, rows int) (figure Figure, err error) {
	const inFlight = 512
	src := newSource(inFlight, newMessage)
	err = l.consume(ctx, consumption{
		src:      src,
		register: l.invoicesMany,
		drive: func(ctx context.Context, abandoned <-chan struct{}) error {
			var h histogram
			watch := l.startWatch(ctx)
			n, err := src.feed(ctx, rows, &h, abandoned)
			figure = watch.figure(ctx, n, &h)
			return err
		},
	})
	return figure, err
}

// maxRSS is the most that this process had resident, in MiB. A parent's getrusage
// would count what the parent had when it started the child.
func maxRSS() (float64, error) {
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("resident memory is known on Linux only: %w", err)
	}
	defer func() { _ = status.Close() }()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		value, ok := strings.CutPrefix(lines.Text(), "VmHWM:")
		if !ok {
			continue
		}
		kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		return kb / 1024, err
	}
	return 0, errors.New("/proc/self/status has no VmHWM")
}
