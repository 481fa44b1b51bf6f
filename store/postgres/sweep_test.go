package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/postgres"
)

// A sweep waits for the rows that another one moves: if it passed them over, later rows of
// their order would be on the line before them.
func TestASweepWaitsForAnother(t *testing.T) {
	t.Parallel()
	b := setup(t, "open", "", postgres.Options{})
	publish, err := b.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = publish.Rollback() }()
	event := headrace.Event{Topic: "t", OrderKey: "k", Local: true, Payload: []byte("{}")}
	if err := outbox.New(b.Outbox()).Publish(t.Context(), publish, event, event); err != nil {
		t.Fatal(err)
	}
	if err := publish.Commit(); err != nil {
		t.Fatal(err)
	}
	table := `"` + b.schema + `".headrace_outbox`
	other, err := b.db.BeginTx(t.Context(), nil) // as another process's sweep under way
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback() }()
	if _, err := other.ExecContext(t.Context(), "SELECT 1 FROM "+table+" WHERE id = (SELECT min(id) FROM "+table+") FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	s := b.Operations().Subscriptions
	if err := s.Subscribe(t.Context(), map[string][]string{"c": {"t"}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if n, err := s.Sweep(ctx); err == nil {
		t.Errorf("%d rows were moved past one that another sweep moves", n)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Sweep(t.Context()); n != 2 || err != nil {
		t.Errorf("%d rows were moved, %v", n, err)
	}
}
