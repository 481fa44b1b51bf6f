package ledger_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/sqlite"
)

// Mail is what customers send.
type Mail struct{ Tenant, Text string }

// Prompt is all that an answer depends on.
type Prompt struct{ Tenant, Model, Text string }

var classify = ledger.Step[string]{
	Name: "classify", System: "model", Timeout: 2 * time.Minute,
	Recover: ledger.Retry, KeyWindow: ledger.Forever, // a call costs money, and does nothing else
	Memo: 24 * time.Hour, // for a day messages with the same Input have one answer
}

// Two customers send the same text: the model is asked once.
func ExampleStep_memo() {
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(context.Background(), filepath.Join(dir, "mails.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	broker := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	c, err := consumer.New("support", st, consumer.Config{Source: broker, Logger: slog.New(slog.DiscardHandler), Key: inbox.MessageID()})
	if err != nil {
		log.Fatal(err)
	}
	consumer.HandleLeased(c, "mails", func(ctx context.Context, m *headrace.Message[Mail]) (headrace.Effects, error) {
		class, err := classify.Input(Prompt{m.Body.Tenant, "small-2", m.Body.Text}).Do(ctx, func(context.Context, *ledger.Call) (string, error) {
			fmt.Println("asked") // a program asks its model
			return "invoice", nil
		})
		if err != nil {
			return nil, err
		}
		return func(context.Context, *headrace.Tx) error { fmt.Println(class); return nil }, nil
	}, consumer.Steps(classify))
	for _, id := range []string{"1", "2"} {
		if err := broker.Publish("mails", message.NewMessage(id, []byte(`{"Tenant":"mill","Text":"Where is my invoice?"}`))); err != nil {
			log.Fatal(err)
		}
	}

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for c.Stats().BacklogApplied < 2 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	_ = broker.Close()
	// Output:
	// asked
	// invoice
	// invoice
}
