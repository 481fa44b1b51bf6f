package pgtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// sessions are idle connections of this package by their DSN. They end with the process: a new one costs the server
// more than what it is for.
var sessions = struct {
	mu   sync.Mutex
	idle map[string][]*pgx.Conn
}{idle: map[string][]*pgx.Conn{}}

// session runs f with a connection of its own, within statementTimeout.
func session(dsn string, f func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	conn, err := idle(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if err := f(ctx, conn); err != nil {
		_ = conn.Close(ctx)
		return err
	}
	// After a slow write pgx may still have a goroutine that reads, which goleak would find. The deadline ends it.
	_ = conn.PgConn().Conn().SetReadDeadline(time.Now())
	sessions.mu.Lock()
	defer sessions.mu.Unlock()
	sessions.idle[dsn] = append(sessions.idle[dsn], conn)
	return nil
}

// idle returns an idle connection that still answers, or a new one. A test may have had the server end the others.
func idle(ctx context.Context, dsn string) (*pgx.Conn, error) {
	for {
		sessions.mu.Lock()
		all := sessions.idle[dsn]
		if len(all) == 0 {
			sessions.mu.Unlock()
			return pgx.Connect(ctx, dsn)
		}
		conn := all[len(all)-1]
		sessions.idle[dsn] = all[:len(all)-1]
		sessions.mu.Unlock()
		_ = conn.PgConn().Conn().SetReadDeadline(time.Time{})
		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		_ = conn.Close(ctx)
	}
}
