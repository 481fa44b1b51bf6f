package story

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// few is a stream of webhooks with the ids 0, 1, 2, …, and the error that it ends with.
type few struct {
	n, i int
	end  error
}

func (f *few) next(context.Context) (webhook, error) {
	if f.i == f.n {
		return webhook{}, f.end
	}
	f.i++
	return webhook{ID: fmt.Sprint(f.i - 1), Payload: []byte("{}"), Headers: map[string]string{"H": "1"}}, nil
}

// bench is a source on a journal in a file.
type bench struct {
	*source
	db       *sql.DB
	messages <-chan *message.Message
	crash    func() // ends everything as kill -9 would: nothing is recorded any more
}

func setup(t *testing.T, file string, s stream) *bench {
	t.Helper()
	db, err := sql.Open("sqlite", uri(file)+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	j, err := openJournal(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	others, err := j.others(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var orphans []string
	for run := range others {
		orphans = append(orphans, run)
	}
	b := &bench{source: newSource(s, j, orphans), db: db}
	b.log = slog.New(slog.DiscardHandler)
	if b.messages, err = b.Subscribe(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	crashed := false
	b.crash = func() {
		crashed = true
		_ = db.Close()
		_ = b.Close()
		j.close()
	}
	t.Cleanup(func() {
		if !crashed {
			b.crash()
		}
	})
	return b
}

func (b *bench) receive(t *testing.T) *message.Message {
	t.Helper()
	select {
	case m := <-b.messages:
		return m
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was handed out")
		return nil
	}
}

func (b *bench) count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	if err := b.db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// INVARIANTS 1: what was handed out stands in the journal before the consumer sees it. Many are in flight at once.
func TestSourceWritesBeforeItHandsOut(t *testing.T) {
	b := setup(t, filepath.Join(t.TempDir(), "j"), &few{n: 1000, end: io.EOF})
	var held []*message.Message
	for range maxInFlight {
		m := b.receive(t)
		if b.count(t, "SELECT count(*) FROM orders_deliveries WHERE message_id = $1", m.UUID) != 1 {
			t.Fatalf("message %s is not in the journal", m.UUID)
		}
		held = append(held, m)
	}
	if n := b.count(t, "SELECT count(*) FROM orders_deliveries"); n != maxInFlight {
		t.Fatalf("%d deliveries, want %d", n, maxInFlight)
	}
	for _, m := range held {
		m.Ack()
	}
	b.receive(t)
}

// gate is a stream that gives one webhook when it is opened.
type gate chan struct{}

func (g gate) next(ctx context.Context) (webhook, error) {
	select {
	case <-g:
		return webhook{ID: "behind the gate"}, nil
	case <-ctx.Done():
		return webhook{}, ctx.Err()
	}
}

// signalled is a log that says when something was logged.
type signalled chan struct{}

func (s signalled) Write(b []byte) (int, error) {
	select {
	case s <- struct{}{}:
	default:
	}
	return len(b), nil
}

func TestSourceHandsOutNothingThatIsNotWritten(t *testing.T) {
	g, logged := make(gate, 1), make(signalled, 1)
	b := setup(t, filepath.Join(t.TempDir(), "j"), g)
	b.log = slog.New(slog.NewTextHandler(logged, nil))
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	g <- struct{}{}
	select {
	case m := <-b.messages:
		t.Errorf("%s is handed out, and not in the journal", m.UUID)
	case <-logged: // it tries again
	}
}

func TestSourceDrains(t *testing.T) {
	b := setup(t, filepath.Join(t.TempDir(), "j"), &few{n: 10, end: io.EOF})
	var held []*message.Message
	for range 10 {
		held = append(held, b.receive(t))
	}
	for i, m := range held {
		select {
		case <-b.drained:
			t.Fatalf("drained after %d of 10", i)
		default:
		}
		m.Ack()
	}
	<-b.drained
	if n := b.count(t, "SELECT count(*) FROM orders_in_flight"); n != 0 {
		t.Errorf("%d in flight after the last one was acknowledged", n)
	}
	if n := b.count(t, "SELECT count(*) FROM orders_deliveries"); n != 10 {
		t.Errorf("%d deliveries, want 10", n)
	}
}

// What is given back comes again: the same message, another delivery.
func TestSourceRedelivers(t *testing.T) {
	b := setup(t, filepath.Join(t.TempDir(), "j"), &few{n: 1, end: io.EOF})
	first := b.receive(t)
	first.Nack()
	again := b.receive(t)
	if again == first || again.UUID != first.UUID || string(again.Payload) != "{}" || again.Metadata["H"] != "1" {
		t.Errorf("got %+v", again)
	}
	again.Ack()
	<-b.drained
	if n := b.count(t, "SELECT count(*) FROM orders_deliveries"); n != 2 {
		t.Errorf("%d deliveries, want 2", n)
	}
}

// What a killed run had in flight is handed out by the next one, from the journal and not from the stream, with
// all that it had, and once more after another crash.
func TestSourceTakesOverAfterACrash(t *testing.T) {
	file := filepath.Join(t.TempDir(), "j")
	b := setup(t, file, &few{n: 20, end: io.EOF})
	var held []*message.Message
	for range 20 {
		held = append(held, b.receive(t))
	}
	for _, m := range held[:5] { // in order, so that the mark moves
		m.Ack()
	}
	for b.count(t, "SELECT count(*) FROM orders_in_flight") > 15 {
		if err := b.journal.flush(); err != nil {
			t.Fatal(err)
		}
	}
	b.crash()
	for range 2 {
		b = setup(t, file, &few{end: io.EOF})
		var got []string
		for range 15 {
			m := b.receive(t)
			if string(m.Payload) != "{}" || m.Metadata["H"] != "1" {
				t.Errorf("got %+v", m)
			}
			got = append(got, m.UUID)
		}
		slices.Sort(got)
		if want := []string{"10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "5", "6", "7", "8", "9"}; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if n := b.count(t, "SELECT count(*) FROM orders_in_flight"); n != 15 {
			t.Errorf("%d in flight, want 15", n)
		}
		b.crash()
	}
}

// A run that is shut down records what was acknowledged up to then, also what the pump was not told.
func TestSourceCloseRecordsAcknowledgements(t *testing.T) {
	b := setup(t, filepath.Join(t.TempDir(), "j"), &few{n: 50, end: io.EOF})
	for i := range 50 {
		m := b.receive(t)
		if i < 49 {
			m.Ack()
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if n := b.count(t, "SELECT count(*) FROM orders_in_flight"); n != 1 {
		t.Errorf("%d in flight, want 1", n)
	}
	if err := b.Close(); err != nil { // twice is harmless
		t.Fatal(err)
	}
}

func TestSourceReportsAFailingStream(t *testing.T) {
	broken := errors.New("disk gone")
	b := setup(t, filepath.Join(t.TempDir(), "j"), &few{n: 1, end: broken})
	b.receive(t).Ack()
	<-b.drained
	if !errors.Is(b.err(), broken) {
		t.Errorf("got %v", b.err())
	}
}

// The journal commits what comes at once together, and a repeated write changes nothing.
func TestJournalIsIdempotent(t *testing.T) {
	b := setup(t, filepath.Join(t.TempDir(), "j"), &few{end: io.EOF})
	d := []delivery{{n: 7, webhook: webhook{ID: "a"}}}
	for range 2 {
		if err := b.journal.send(d); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.count(t, "SELECT count(*) FROM orders_deliveries"); n != 1 {
		t.Errorf("%d deliveries, want 1", n)
	}
}
