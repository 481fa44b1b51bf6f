package local

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/outboxread"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/outbox"
)

// Store is the part of a store.Store that local delivery needs.
type Store interface {
	outboxread.Store
	Backlog() backlog.Tables
}

// Routes say to which handlers rows go.
type Routes interface {
	// Local are the topics delivered here; no names means none.
	Local() outbox.Topics
	// Messages are the messages for the handlers of a row's topic.
	Messages(r *outbox.Row) []outcome.Message
}

// Options configure a Line. All are required.
type Options struct {
	Store Store
	// Reader reads the batches of Store.
	Reader *outboxread.Reader
	// Routes returns the routes at present.
	Routes func() Routes
	// StoreTimeout bounds a transaction.
	StoreTimeout time.Duration
	// Recorder writes the rows of the backlogs.
	Recorder *outcome.Recorder
	Logger   *slog.Logger
}

// Line is the part of the outbox that is delivered here.
type Line struct {
	o Options
	// busy has for each shard the rows that other transactions worked on at the last try.
	// It belongs to the worker of the shard.
	busy [shard.Count]map[int64]bool
}

// New returns a line.
func New(o Options) *Line { return &Line{o: o} }

// Poll implements drain.Line.
func (l *Line) Poll(ctx context.Context, marks []int64) (drain.Polled, error) {
	topics := l.o.Routes().Local()
	if len(topics.Names) == 0 {
		return drain.Polled{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.o.StoreTimeout)
	defer cancel()
	p, err := l.o.Store.Outbox().Poll(ctx, marks, topics)
	if err != nil {
		return drain.Polled{}, fmt.Errorf("poll for routes: %w", err)
	}
	return drain.Polled{Shards: p.Shards, Next: p.Next, Tops: p.Tops}, nil
}

// Work implements drain.Line: one batch, in one transaction.
func (l *Line) Work(ctx context.Context, shard int, after int64) (drain.Result, error) {
	routes := l.o.Routes()
	if len(routes.Local().Names) == 0 { // changed since Poll: no names would mean all rows
		return drain.Result{}, nil
	}
	b := &handover{Line: l, shard: shard, after: after, routes: routes}
	// Finish the batch, also when the relay stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.o.StoreTimeout)
	defer cancel()
	result, err := b.work(ctx)
	if err != nil {
		return drain.Result{}, fmt.Errorf("routes: shard %d: %w", shard, err)
	}
	return result, nil
}
