package relay_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/store/postgres"
)

// signalling is a sink that tells of each event.
type signalling chan struct{}

func (s signalling) Publish(string, ...*message.Message) error { s <- struct{}{}; return nil }
func (signalling) Close() error                                { return nil }

// INVARIANTS 23, Shutdown: a relay on a frozen network returns within its bound, with
// nil where its statements can be cut, and an error where one is left behind.
//
//evidence:frozen-stop
func TestRunOnAFrozenNetwork(t *testing.T) {
	for _, driver := range []string{"open", "postgres"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			dsn, schema := pgstore.New(t)
			network, through := pgtest.NewProxy(t, dsn)
			o := postgres.Options{Schema: schema, Migrate: true}
			var st *postgres.Store
			var err error
			if driver == "open" {
				st, err = postgres.Open(t.Context(), through, o)
			} else {
				st, err = postgres.New(t.Context(), pgtest.OpenDB(t, driver, through), o)
			}
			if err != nil {
				t.Fatal(err)
			}
			x, err := st.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			event := outbox.RowOf(headrace.Event{ID: "1", Topic: "t", Payload: []byte("{}")})
			if err := st.Commit(t.Context(), x, []outbox.Row{event}); err != nil {
				t.Fatal(err)
			}
			sink := make(signalling, 100)
			r, err := relay.New(st, sink, relay.Options{StopTimeout: time.Second, SinkID: "file"})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			<-sink
			network.Freeze()
			time.Sleep(6 * time.Second) // more than the pause between two looks
			stop()
			select {
			case err := <-ended:
				if (err != nil) != (driver == "postgres") {
					t.Errorf("Run: %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Error("Run did not return")
			}
			network.Thaw()
			_ = st.Close()
		})
	}
}
