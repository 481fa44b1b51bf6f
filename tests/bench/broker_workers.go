package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/kafka"
	"github.com/headrace/headrace/consumer"
)

// workers is what a child process consumes.
type workers struct {
	Brokers []string      `json:"brokers"`
	Group   string        `json:"group"`
	Topic   string        `json:"topic"`
	Wait    time.Duration `json:"wait"` // how long a handler waits for another service
}

// elsewhere is the wait of handlers that wait for another service than the database.
const elsewhere = 10 * time.Millisecond

// settling is how long processes that start together take: they share the partitions, and
// work with caution until each has seen that the others live.
const settling = 10 * time.Second

// workerBenchmarks are consumers of one topic in one, two and four processes.
func workerBenchmarks(k kafkaFixture) (all []benchmark) {
	for _, kind := range []struct {
		name, says string
		wait       time.Duration
		fastest    int
	}{
		{"kafka_workers_", "headrace on Kafka: one statement a message", 0, 25_000},
		{"kafka_waiting_", fmt.Sprintf("headrace on Kafka: a handler waits %s for another service", elsewhere), elsewhere, 2500},
	} {
		for _, n := range []int{1, 2, 4} {
			b := benchmark{
				part: "kafka", name: fmt.Sprint(kind.name, n), says: fmt.Sprintf("%s, %d processes", kind.says, n),
				run: runWorkers(k, n, kind.wait, kind.fastest),
			}
			if n > 1 {
				b.against = []string{kind.name + "1"}
			}
			all = append(all, b)
		}
	}
	return all
}

func runWorkers(k kafkaFixture, processes int, wait time.Duration, fastest int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		a.warm = settling
		messages := a.or(int(float64(fastest) * (a.time.Seconds()*1.2 + a.warm.Seconds())))
		w := workers{k.brokers, "bench-" + rand.Text(), "bench-" + strings.ToLower(rand.Text()[:10]), wait}
		k.partitions = 8
		if err := fillTopic(ctx, k, w.Topic, messages); err != nil {
			return Figure{}, err
		}
		running, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, processes)
		for range processes {
			go func() { ended <- startWorker(running, assignment{Work: "kafka", DSN: l.dsn, Workers: &w}) }()
		}
		figure, err := l.watchCommits(ctx, a, messages, ended)
		left := processes
		if errors.Is(err, errAbandoned) {
			left--
		}
		stop()
		for range left {
			err = errors.Join(err, <-ended)
		}
		return figure, errors.Join(err, l.appliedOnce(ctx))
	}
}

// startWorker runs a child process until ctx ends.
func startWorker(ctx context.Context, o assignment) error {
	p, err := startProcess(o)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = p.input.Close() })()
	<-p.ended
	return p.err
}

// childWorker consumes until its standard input ends.
func (l *lab) childWorker(ctx context.Context, w workers) (err error) {
	ctx, stop := untilInputEnds(ctx)
	defer stop()
	st, err := l.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	o := kafkaFixture{brokers: w.Brokers}.options(256)
	o.Group = w.Group
	source, err := kafka.NewSource(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	config := l.config
	config.Source = source
	c, err := consumer.New("billing", st, config)
	if err != nil {
		return err
	}
	invoice := l.query("invoice")
	consumer.Handle(c, w.Topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		time.Sleep(w.Wait)
		_, err := tx.ExecContext(ctx, invoice, m.Body.ID, m.Body.Currency, m.Body.TotalCents)
		return err
	})
	return c.Run(ctx)
}
