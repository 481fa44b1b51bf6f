package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

// brokerKind is a broker that -brokers measures.
type brokerKind struct {
	name, service, variable string
	// connect is given the value of variable.
	connect func(address string) brokerFixture
	// plain is what the plain Router is on instead, where the official adapter is another
	// broker than ours, and same is ours for a plain Router as well; nil for both is connect.
	plain, same func(address string) brokerFixture
	// more are benchmarks of its own; nil for none.
	more func(brokerFixture) []benchmark
}

// brokerFixture is a broker that runs.
type brokerFixture interface {
	// create makes a topic and whatever its source needs; it is never removed.
	create(ctx context.Context, topic string) error
	// sink is what the topic is filled by.
	sink() (message.Publisher, error)
	// source has that many messages in flight, of one subscription.
	source(inFlight int) (message.Subscriber, error)
}

// brokerKinds are all of them.
func brokerKinds() []brokerKind {
	return []brokerKind{kafkaKind, amqpKind, sqsKind, redisKind, natsKind, postgresKind}
}

// brokerBenchmarks are those of -brokers, for the brokers that are named; "all" means
// all.
func brokerBenchmarks(names string, address func(brokerKind) (string, error)) ([]benchmark, error) {
	var all []benchmark
	for _, kind := range brokerKinds() {
		if names != "all" && !strings.Contains(","+names+",", ","+kind.name+",") {
			continue
		}
		at, err := address(kind)
		if err != nil {
			return nil, err
		}
		fixture := kind.connect(at)
		plain := fixture
		if kind.plain != nil {
			plain = kind.plain(at)
		}
		for _, inFlight := range []int{1, 16, 256} {
			name := func(variant string) string { return fmt.Sprintf("%s_%s%d", kind.name, variant, inFlight) }
			if kind.plain != nil {
				all = append(all, benchmark{part: kind.name, name: name("same_"), run: runOnBroker(kind.same(at), inFlight, consumePlainly),
					says: fmt.Sprintf("%s, a plain Router on our adapter: one transaction a message with an inbox by hand, %d in flight", kind.name, inFlight)})
			}
			ours := benchmark{part: kind.name, name: name(""), run: runOnBroker(fixture, inFlight, consumeWith),
				says:    fmt.Sprintf("%s, headrace: a handler with one statement, %d in flight", kind.name, inFlight),
				against: []string{name("plain_"), name("bare_")}, labels: []string{"plain", "bare"}}
			if kind.plain != nil {
				ours.against, ours.labels = append(ours.against, name("same_")), append(ours.labels, "same")
			}
			all = append(all,
				benchmark{part: kind.name, name: name("bare_"), run: runOnBroker(plain, inFlight, consumeBarely),
					says: fmt.Sprintf("%s, a plain Router: one transaction a message, duplicates applied, %d in flight", kind.name, inFlight)},
				benchmark{part: kind.name, name: name("plain_"), run: runOnBroker(plain, inFlight, consumePlainly),
					says: fmt.Sprintf("%s, a plain Router: one transaction a message with an inbox by hand, %d in flight", kind.name, inFlight)},
				ours)
		}
		if kind.more != nil {
			all = append(all, kind.more(fixture)...)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no broker is called %q", names)
	}
	return all, nil
}

// consumeFunc consumes topic until ctx ends; it returns when nothing is in flight.
type consumeFunc func(ctx context.Context, l *lab, source message.Subscriber, topic string, inFlight int) error

// fastest bounds the rate that a benchmark prepares for, by what is in flight.
func fastest(inFlight int) int { return min(2000*inFlight, 20_000) }

// runOnBroker fills a topic and consumes it. What counts is what is committed.
func runOnBroker(fixture brokerFixture, inFlight int, consume consumeFunc) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		messages := a.or(int(float64(fastest(inFlight)) * a.time.Seconds() * 1.2))
		topic := "bench-" + strings.ToLower(rand.Text()[:10])
		if err := fillTopic(ctx, fixture, topic, messages); err != nil {
			return Figure{}, err
		}
		source, err := fixture.source(inFlight)
		if err != nil {
			return Figure{}, err
		}
		running, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- consume(running, l, source, topic, inFlight) }()
		figure, err := l.watchCommits(ctx, a, messages, ended)
		stop()
		if !errors.Is(err, errAbandoned) {
			err = errors.Join(err, <-ended)
		}
		return figure, errors.Join(err, source.Close(), l.appliedOnce(ctx))
	}
}

func fillTopic(ctx context.Context, fixture brokerFixture, topic string, messages int) error {
	if err := fixture.create(ctx, topic); err != nil {
		return err
	}
	sink, err := fixture.sink()
	if err != nil {
		return err
	}
	for n := 0; n < messages; {
		var batch []*message.Message
		for ; n < messages && len(batch) < 500; n++ {
			batch = append(batch, newMessage(uint64(n)))
		}
		if err := sink.Publish(topic, batch...); err != nil {
			return errors.Join(err, sink.Close())
		}
	}
	return sink.Close()
}

// watchCommits measures how many effects are committed, after the first have come and a
// warm-up.
func (l *lab) watchCommits(ctx context.Context, a amount, messages int, ended <-chan error) (Figure, error) {
	warm, end := a.time/5+a.warm, a.time
	if a.messages > 0 {
		warm, end = 0, waitTimeout
	}
	until := func(d time.Duration, least int) (int, error) {
		deadline := time.NewTimer(d)
		defer deadline.Stop()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			var n int
			if err := l.db.QueryRowContext(ctx, l.query("count_effects")).Scan(&n, new(int)); err != nil {
				return n, err
			}
			if n >= least {
				return n, nil
			}
			select {
			case <-deadline.C:
				return n, nil
			case err := <-ended:
				return n, errors.Join(errAbandoned, err)
			case <-tick.C:
			}
		}
	}
	if _, err := until(waitTimeout, 1); err != nil {
		return Figure{}, err
	}
	before, err := 0, error(nil)
	if warm > 0 {
		if before, err = until(warm, messages); err != nil {
			return Figure{}, err
		}
	}
	watch := l.startWatch(ctx)
	after, err := until(end, messages)
	if err != nil {
		return Figure{}, err
	}
	return watch.figure(ctx, after-before, new(histogram)), nil
}

// appliedOnce looks that no effect is there twice.
func (l *lab) appliedOnce(ctx context.Context) error {
	var all, orders int
	if err := l.db.QueryRowContext(ctx, l.query("count_effects")).Scan(&all, &orders); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if all != orders {
		return fmt.Errorf("verify: %d effects of %d messages", all, orders)
	}
	return nil
}

// consumeWith is headrace.
func consumeWith(ctx context.Context, l *lab, source message.Subscriber, topic string, inFlight int) (err error) {
	st, err := l.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	config := l.config
	config.Source, config.MaxInFlight = source, inFlight
	c, err := consumer.New("billing", st, config)
	if err != nil {
		return err
	}
	invoice := l.query("invoice")
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		_, err := tx.ExecContext(ctx, invoice, m.Body.ID, m.Body.Currency, m.Body.TotalCents)
		return err
	})
	return c.Run(ctx)
}

// consumePlainly is what a careful team writes without us: a Router, and a transaction a
// message with the inbox in it.
func consumePlainly(ctx context.Context, l *lab, source message.Subscriber, topic string, inFlight int) error {
	return consumeInRouter(ctx, l, source, topic, inFlight, l.query("take"))
}

// consumeBarely is the simplest handler: a duplicate is applied twice.
func consumeBarely(ctx context.Context, l *lab, source message.Subscriber, topic string, inFlight int) error {
	return consumeInRouter(ctx, l, source, topic, inFlight, "")
}

func consumeInRouter(ctx context.Context, l *lab, source message.Subscriber, topic string, inFlight int, take string) error {
	db, err := l.open(min(inFlight, 64))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: waitTimeout}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	w := plainWork{db: db, take: take, invoice: l.query("invoice")}
	router.AddConsumerHandler("billing", topic, source, w.handle)
	return router.Run(ctx)
}

// plainWork is a handler of a Router.
type plainWork struct {
	db            *sql.DB
	take, invoice string // take is "" for no inbox
}

func (w plainWork) handle(m *message.Message) error {
	var o order
	if err := json.Unmarshal(m.Payload, &o); err != nil {
		return err
	}
	// The Router ends the message's context before what is in flight has ended.
	ctx := context.WithoutCancel(m.Context())
	tx, err := w.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if w.take != "" {
		result, err := tx.ExecContext(ctx, w.take, "billing", m.UUID)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return err // handled before
		}
	}
	if _, err := tx.ExecContext(ctx, w.invoice, o.ID, o.Currency, o.TotalCents); err != nil {
		return err
	}
	return tx.Commit()
}
