package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
)

// mostMemory is how much memory of its own a command may have resident, in MiB, however many letters there are. Pages of
// the program's file come on top: 20 to 24 MiB of them are used, but the kernel maps those around them, too, up to the whole
// file where it is in large folios of the page cache. They are clean, and shared by all processes of the program.
const mostMemory = 40

// No command needs memory for each letter: neither to plan, apply and watch a decision on many, nor to
// take it back, nor to list all.
//
//evidence:command
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		if os.Getenv("CI") == "true" {
			t.Fatal("resident memory is known on Linux only; with CI=true this test must run")
		}
		t.Skip("resident memory is known on Linux only")
	}
	n := letters(t)
	kinds := []string{"sqlite", "postgres"}
	if n < 100_000 {
		kinds = kinds[:1] // the command is the same
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			c := crowd(t, kind, n)
			stop := c.serve()
			defer stop()
			for _, args := range []string{
				"dlq ls --all-pages -o ndjson", "dlq ls --all-pages", "dlq ls --all-pages -o json", "dlq ls --host nosuch --all-pages", "dlq groups --topic orders --all-pages",
				"redrive plan --consumer billing", "redrive show R-2", "redrive letters R-2 --limit 10000 -o json",
				"dlq discard --handler h3 --yes --reason known", "redrive show R-3", "redrive watch R-3", "dlq restore R-3 --yes --reason wrong",
				"dlq discard --handler h5 --yes --reason known", "dlq restore --direct R-4 --yes --reason wrong",
				"dlq discard --direct --handler h4 --yes --reason known",
				"dlq redrive --direct --handler h6 --limit 300 --yes --reason fixed", "dlq discard --direct --handler h6 --limit 300 --yes --reason known",
			} {
				most, out := c.resident(strings.Fields(args)...)
				t.Logf("%5.1f MiB: headrace %s %s", most, args, out)
				if most > mostMemory {
					t.Errorf("headrace %s has %.1f MiB resident, want at most %d", args, most, mostMemory)
				}
			}
		})
	}
}

// serve runs a process of the consumer until stop is called.
func (c *crowded) serve() (stop func()) {
	c.Helper()
	db, err := parseDSN(c.dsn)
	c.must(err)
	st, err := New().open(context.Background(), db, "", false)
	c.must(err)
	p, err := consumer.New("billing", st.Store, consumer.Config{
		Build: "v1.9", Codec: codec.Raw(), Logger: slog.New(slog.DiscardHandler), Alert: func(context.Context, alerts.Alert) error { return nil },
	})
	c.must(err)
	for i := range 8 {
		consumer.Handle(p, fmt.Sprint("h", i), func(context.Context, *headrace.Tx, *headrace.Message[[]byte]) error { return nil }, consumer.Local())
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	waitsListed(c.Fatalf, st.Operations().Instances, "v1.9")
	return func() {
		cancel()
		if err := errors.Join(<-ended, st.Close()); err != nil {
			c.Error(err)
		}
	}
}

// resident runs a command as a process of its own, and returns the most memory of its own that it had resident, in
// MiB, and the end of what it printed.
func (c *crowded) resident(args ...string) (most float64, end string) {
	c.Helper()
	cmd := exec.Command("headrace", args...) // TestMain puts it into PATH
	cmd.Env = append(os.Environ(), "HEADRACE_DSN="+c.dsn)
	var failed bytes.Buffer
	printed := &tail{}
	cmd.Stdout, cmd.Stderr = printed, &failed
	c.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	peak := &peak{}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil && cmd.ProcessState.ExitCode() != exitPartial {
				c.Errorf("%v: %v: %s", args, err, failed.String())
			}
			return peak.own, string(printed.last)
		case <-tick.C:
			peak.look(cmd.Process.Pid)
		}
	}
}

// peak is the most memory of its own that a process had resident, in MiB, so far.
type peak struct{ own, file float64 }

// look reads what the process has now. It knows the peak of all its memory, so that none is missed between two looks
// but the last.
func (p *peak) look(pid int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	mib := make(map[string]float64)
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if words := strings.Fields(value); len(words) > 0 {
			kib, _ := strconv.ParseFloat(words[0], 64)
			mib[name] = kib / 1024
		}
	}
	p.file = max(p.file, mib["RssFile"])
	p.own = max(p.own, mib["RssAnon"]+mib["RssShmem"], mib["VmHWM"]-p.file)
}

// tail keeps the last bytes written to it.
type tail struct{ last []byte }

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	t.last = bytes.Clone(t.last[max(0, len(t.last)-100):])
	return len(p), nil
}
