//go:build unix

package nemesis

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/tests/torture/cluster"
	"github.com/headrace/headrace/tests/torture/workload"
)

//go:embed queries/*.sql
var queryFiles embed.FS

var queries = func() map[string]string {
	q, err := sqlfile.Load(queryFiles, "queries", "")
	if err != nil {
		panic(err) // they are part of the program
	}
	return q
}()

func serverCrash(ctx context.Context, w *World) (hits int, err error) {
	for range w.Kills {
		sleep(ctx, time.Duration(300+w.Rand.IntN(700))*time.Millisecond)
		if err := w.Cluster.Stop(ctx, "immediate"); err != nil {
			return hits, err
		}
		sleep(ctx, time.Duration(w.Rand.IntN(500))*time.Millisecond)
		if err := w.Cluster.Start(ctx); err != nil {
			return hits, err
		}
		hits++
		w.Hit("server-crash", "it recovered")
	}
	return hits, nil
}

func lostCommit(ctx context.Context, w *World) (int, error) {
	before := w.Proxy.Swallowed()
	w.Proxy.Swallow(3 * w.Kills)
	hits := 0
	for end := time.Now().Add(reachTime); hits < 3*w.Kills && time.Now().Before(end) && ctx.Err() == nil; sleep(ctx, 20*time.Millisecond) {
		hits = w.Proxy.Swallowed() - before
	}
	w.Proxy.Swallow(0)
	w.Hit("lost-commit", fmt.Sprintf("%d answers are lost", hits))
	return hits, nil
}

func backends(ctx context.Context, w *World) (hits int, err error) {
	for range 30 {
		n := 0
		if err := w.System().DB.QueryRowContext(ctx, queries["terminate"]).Scan(&n); err != nil {
			return hits, err
		}
		hits += n
		sleep(ctx, 100*time.Millisecond)
	}
	w.Hit("backends", fmt.Sprintf("%d connections are ended", hits))
	return hits, nil
}

// progress fails unless events come out while a fault is on.
func (w *World) progress(ctx context.Context, what string) error {
	const least = 100
	before := w.Published()
	for end := time.Now().Add(20 * time.Second); w.Published() < before+least; sleep(ctx, 20*time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%s: %d events came out in 20 s", what, w.Published()-before)
		}
	}
	return nil
}

func longWriter(ctx context.Context, w *World) (int, error) {
	server, err := sql.Open("postgres", w.Cluster.DSN("postgres"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = server.Close() }()
	for _, q := range []string{"drop_other", "create_other"} {
		if _, err := server.ExecContext(ctx, queries[q]); err != nil {
			return 0, err
		}
	}
	defer func() { _, _ = server.ExecContext(context.WithoutCancel(ctx), queries["drop_other"]) }()
	other, err := sql.Open("postgres", w.Cluster.DSN("torture_other"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = other.Close() }()
	tx, err := other.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	for _, q := range []string{"other_table", "other_write"} {
		if _, err := tx.ExecContext(ctx, queries[q]); err != nil {
			return 0, err
		}
	}
	if err := w.progress(ctx, "with a writing transaction open elsewhere"); err != nil {
		return 0, err
	}
	w.Hit("long-writer", "events came out meanwhile")
	return 1, tx.Commit()
}

func longSnapshot(ctx context.Context, w *World) (int, error) {
	tx, err := w.System().DB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	before, after := 0, 0
	if err := tx.QueryRowContext(ctx, queries["look"]).Scan(&before); err != nil {
		return 0, err
	}
	sleep(ctx, 3*time.Second)
	if err := w.progress(ctx, "with a snapshot open"); err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, queries["look"]).Scan(&after); err != nil || before != after {
		return 0, errors.Join(err, fmt.Errorf("it was no snapshot: %d, %d", before, after))
	}
	w.Hit("long-snapshot", "events came out meanwhile")
	return 1, tx.Commit()
}

func lateCommitter(ctx context.Context, w *World) (hits int, err error) {
	for range w.Kills {
		tx, err := w.System().DB.BeginTx(ctx, nil)
		if err != nil {
			return hits, err
		}
		defer func() { _ = tx.Rollback() }()
		var ids []string
		for range 16 { // of every shard one
			e := headrace.Event{ID: uuid.NewString(), Topic: "late", OrderKey: uuid.NewString(), Payload: []byte("late")}
			ids = append(ids, e.ID)
			if err := outbox.New(w.System().Store.Outbox()).Publish(ctx, tx, e); err != nil {
				return hits, err
			}
		}
		if err := w.progress(ctx, "with lower ids uncommitted"); err != nil {
			return hits, err
		}
		if err := tx.Commit(); err != nil {
			return hits, err
		}
		for _, id := range ids {
			for end := time.Now().Add(10 * time.Second); !w.Downstream(id); sleep(ctx, 10*time.Millisecond) {
				if time.Now().After(end) {
					return hits, fmt.Errorf("an event that committed late is passed over")
				}
			}
		}
		hits++
		w.Hit("late-committer", "it came out")
	}
	return hits, nil
}

func restore(ctx context.Context, w *World) (int, error) {
	sleep(ctx, 2*time.Second)
	if err := w.Stop(); err != nil {
		return 0, err
	}
	if err := w.copy(ctx); err != nil {
		return 0, err
	}
	if err := w.Open(ctx, false); err != nil {
		return 0, err
	}
	if err := w.Start(); err != nil {
		return 0, err
	}
	w.Generator.Again()
	w.Hit("restore", fmt.Sprintf("%d messages come again", w.Generator.Count()))
	return 1, nil
}

// copy moves the world to a copy of its database.
func (w *World) copy(ctx context.Context) error {
	if w.Kind == "sqlite" {
		path := filepath.Join(w.Dir, "restored.db")
		if _, err := w.System().DB.ExecContext(ctx, queries["vacuum_into"], path); err != nil {
			return err
		}
		w.Path = path
		return nil
	}
	dir, err := os.MkdirTemp(filepath.Dir(w.Dir), "restored-")
	if err != nil {
		return err
	}
	fresh, err := cluster.New(ctx, dir)
	if err != nil {
		return err
	}
	w.OnClose(func() { _ = fresh.Stop(context.Background(), "immediate") })
	if err := w.Cluster.Copy(ctx, w.Database, fresh); err != nil {
		return err
	}
	w.Cluster = fresh
	w.Proxy.To(fresh.Addr())
	return nil
}

func busy(ctx context.Context, w *World) (int, error) {
	c, err := w.Launch(workload.Hog)
	if err != nil {
		return 0, err
	}
	if exit, ended := c.Wait(reachTime); !ended || !exit.Ended {
		return c.Held(), fmt.Errorf("the hog did not end: %+v", exit)
	}
	w.Hit("busy", fmt.Sprintf("the lock was held %d times", c.Held()))
	return c.Held(), nil
}
