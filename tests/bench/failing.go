package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/retry"
)

// failingPart measures handlers that fail. A message that failed succeeds when it is
// run again.
func failingPart(d driver) []benchmark {
	const inFlight = 64
	says := func(failing string) string {
		return fmt.Sprintf("headrace: as single, %d in flight, %s; until all are applied, retries included", inFlight, failing)
	}
	part := []benchmark{
		{name: "healthy", says: says("none fails"), run: runFailing(d, inFlight, 0)},
		{name: "failing_5", says: says("5 % fail at their first run: an error, a panic, a refused connection"), run: runFailing(d, inFlight, 5)},
		{name: "failing_half", says: says("50 % fail at their first run"), run: runFailing(d, inFlight, 50)},
	}
	for i := range part {
		if part[i].part = "failing"; i > 0 {
			part[i].against, part[i].with = []string{"healthy"}, []string{"healthy"}
		}
	}
	return d.named(part)
}

// atOnce runs what failed again without a delay: the wait for a backoff says nothing
// about what a failure costs. No message fails twice, so the backoff is never asked for.
var atOnce = retry.Policy{Immediate: 1, Backoff: retry.Backoff{Initial: time.Millisecond, Max: time.Millisecond}}

func runFailing(d driver, inFlight, percent int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		refused, err := refusedConnection()
		if err != nil {
			return Figure{}, err
		}
		f := &faults{percent: uint64(percent), refused: refused, made: make(map[uint64]bool)}
		figure, delivered, err := l.apply(ctx, a, application{
			inFlight: inFlight, open: l.storeWith(d), untilApplied: true, mayFail: percent > 0,
			configure: func(c *consumer.Config) { c.Retry = atOnce },
			register: func(c *consumer.Consumer) {
				consumer.Handle(c, ordersTopic, f.around(l.query("invoice"), invoicing(l.query("invoice"), 0)))
			},
		})
		if err != nil {
			return Figure{}, err
		}
		if err := f.verify(delivered); err != nil {
			return Figure{}, err
		}
		return figure, l.verify(ctx, "count_headrace", delivered)
	}
}

// fault is how a run fails.
type fault int

const (
	none fault = iota
	failure
	panicking
	refusal
)

// faults decide which messages fail, and how: by their number, so that every run of the
// benchmark has the same ones.
type faults struct {
	percent uint64
	refused error // of a connection that was refused

	mu   sync.Mutex
	made map[uint64]bool // the messages that have failed
}

// faultSeed makes the choice independent of the messages' ids.
const faultSeed = 11

// of says how the n-th message fails at its first run. The kinds are equally likely.
func (f *faults) of(n uint64) fault {
	r := scramble(scramble(n) ^ faultSeed)
	if r%100 >= f.percent {
		return none
	}
	return failure + fault(r/100%3)
}

// first is of for a message's first run, and none for any later one.
func (f *faults) first(n uint64) fault {
	kind := f.of(n)
	if kind == none {
		return none
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.made[n] {
		return none
	}
	f.made[n] = true
	return kind
}

// around is a handler that fails where it has to, and is otherwise good. A refused
// connection comes before the first statement, the others come after one.
func (f *faults) around(invoice string, good consumer.Func[order]) consumer.Func[order] {
	return func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		kind := f.first(uint64(m.Body.Number) - firstNumber)
		switch kind {
		case none:
			return good(ctx, tx, m)
		case refusal:
			return fmt.Errorf("ask for the tax rate: %w", f.refused)
		}
		if _, err := tx.ExecContext(ctx, invoice, m.Body.ID, m.Body.Currency, m.Body.TotalCents); err != nil {
			return err
		}
		if kind == panicking {
			panic("the order has no lines")
		}
		return errors.New("the customer has no address")
	}
}

// verify proves that of so many messages those failed that had to.
func (f *faults) verify(messages int) error {
	want := 0
	for n := range messages {
		if f.of(uint64(n)) != none {
			want++
		}
	}
	if len(f.made) != want {
		return fmt.Errorf("verify: of %d messages %d were to fail, and %d did", messages, want, len(f.made))
	}
	return nil
}

// refusedConnection is the error of a connection to a port where nothing listens. It is
// made once: what a connection costs is not what is measured.
func refusedConnection() (refused, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	conn, refused := net.Dial("tcp", address)
	if refused == nil {
		return nil, errors.Join(fmt.Errorf("%s answers, although nothing listens there", address), conn.Close())
	}
	return refused, nil
}
