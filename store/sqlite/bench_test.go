package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
)

// BenchmarkGroup is what a group of 64 messages costs: one claim, 64 one-row
// effects, 16 events, one commit.
func BenchmarkGroup(b *testing.B) {
	for _, prepared := range []bool{true, false} {
		b.Run(fmt.Sprintf("prepared=%t", prepared), func(b *testing.B) { benchmarkGroup(b, prepared, 16) })
		b.Run(fmt.Sprintf("no events,prepared=%t", prepared), func(b *testing.B) { benchmarkGroup(b, prepared, 0) })
	}
}

func benchmarkGroup(b *testing.B, prepared bool, events int) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	s, err := Open(ctx, filepath.Join(b.TempDir(), "bench.db"), Options{Migrate: true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if !prepared {
		cache := s.statements
		s.statements = nil
		defer func() { s.statements = cache }() // before Close
	}
	if _, err := s.DB().ExecContext(ctx, "CREATE TABLE effects (id INTEGER PRIMARY KEY, key TEXT, amount INTEGER)"); err != nil {
		b.Fatal(err)
	}
	var rows []outbox.Row
	for n := range events {
		rows = append(rows, outbox.RowOf(headrace.Event{ID: fmt.Sprint(n), Topic: "t", Payload: []byte("payload")}))
	}
	for n := 0; b.Loop(); n++ {
		t, err := s.Begin(ctx)
		if err != nil {
			b.Fatal(err)
		}
		claims := make([]inbox.Claim, 64)
		for i := range claims {
			claims[i] = inbox.Claim{ID: inbox.ID{Scope: "bench/orders", Key: fmt.Sprintf("key-%d-%d", n, i)}, Fingerprint: "0123456789abcdef"}
		}
		if _, err := s.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: claims}); err != nil {
			b.Fatal(err)
		}
		for _, c := range claims {
			if _, err := t.ExecContext(ctx, "INSERT INTO effects (key, amount) VALUES (?, ?)", c.Key, n); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Commit(ctx, t, rows); err != nil {
			b.Fatal(err)
		}
	}
}
