package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/headrace/headrace/redact"
)

// Main is the program without its process, so that tests can run it. Run is called once.
type Main struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	// Terminal reports whether a stream is a terminal.
	Terminal func(stream any) bool
	// Interruptible returns a context that ends when the user asks to stop. It is used
	// only while letters are changed: everything else may be killed.
	Interruptible func(context.Context) (context.Context, context.CancelFunc)
	// ProgressEvery is the least time between two lines of progress.
	ProgressEvery time.Duration
	// Budget is how long the statements of one answer of a search take; 0 is
	// search.DefaultBudget.
	Budget time.Duration

	// NoPager shows long output on a terminal at once.
	NoPager bool

	out     *bufio.Writer
	args    []string // as the user gave them
	path    string   // of the command, without the program's name
	role    string   // that the command needs, as in roles
	refused bool     // the command will end with an error, and later says what comes next
	later   string
	reads   bool // the command writes nothing
	dryRun  bool // see writes
	paged   *pager
	flags   globalFlags
	started bool // errors before that are wrong usage
	scrub   scrubber
	warned  map[string]bool // what warn has said
	rules   *redact.Rules   // of --redact; nil for the default
}

// New returns the program on the process's own streams.
func New() *Main {
	return &Main{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Terminal: isTerminal, Interruptible: interruptible, ProgressEvery: 5 * time.Second,
	}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// interruptible ends the context at the first signal; the second one kills.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Run runs the command that args name and returns the exit status.
func (m *Main) Run(ctx context.Context, args []string) int {
	m.out, m.args = bufio.NewWriter(closedPipe{m.Stdout}), args
	root := m.root()
	knownOnly(root)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	// Also print the output from before an error.
	if flushed := m.out.Flush(); flushed != nil && (err == nil || saidItself(err) || errors.Is(flushed, errClosedPipe)) {
		err = flushed
	}
	m.paged.close()
	return m.exit(err, command.CommandPath())
}

// say prints a line for people on stderr. It ignores errors.
func (m *Main) say(format string, args ...any) {
	m.flush()
	_, _ = fmt.Fprintln(m.Stderr, "headrace: "+visible(m.scrub.clean(fmt.Sprintf(format, args...))))
}

// flush writes what was printed, before something is said about it. The end of the command reports
// an error of the stream.
func (m *Main) flush() {
	if m.out != nil {
		_ = m.out.Flush()
	}
	m.paged.close()
}

// errClosedPipe says that the reader of our output has ended (`headrace dlq ls | head`),
// which is no failure. It is separate from a database's broken pipe.
var errClosedPipe = errors.New("output closed")

type closedPipe struct{ w io.Writer }

func (c closedPipe) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if gone(err) {
		err = errClosedPipe
	}
	return n, err
}
