package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
)

//go:embed queries/drop.sql
var dropSQL string

// result is what became of the messages of one broker.
type result struct {
	broker, client             string
	sent, lost, twice, letters int
	killed, frozen, restarted  int
	violated                   int
	took                       time.Duration
}

// idleTimeout is how long nothing may happen before the rest counts as lost.
const idleTimeout = 2 * time.Minute

// workers is how many consume at once.
const workers = 3

// freezeTime is how long a worker is frozen: longer than each broker of the list waits for a
// sign of life, so that its messages are given to others before it goes on.
const freezeTime = 10 * time.Second

// trial is one broker's.
type trial struct {
	options
	b       broker
	p       place
	st      *postgres.Store
	running []*exec.Cmd
	r       result
}

// try sends o.n messages to b, kills workers and the broker meanwhile, and counts.
func try(ctx context.Context, b broker, o options) (r result, err error) {
	dsn, address := os.Getenv("HEADRACE_TEST_POSTGRES"), os.Getenv(b.variable)
	if dsn == "" || address == "" {
		return r, fmt.Errorf("%s or HEADRACE_TEST_POSTGRES is not set: run scripts/foreign", b.variable)
	}
	name := fmt.Sprintf("foreign_%s_%d", b.name, os.Getpid())
	if b.name == "postgres" {
		address += "&schema=" + name
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return r, fmt.Errorf("HEADRACE_TEST_POSTGRES: %w", err)
	}
	values := u.Query()
	values.Set("search_path", name)
	u.RawQuery = values.Encode()
	dsn = u.String()
	t := &trial{options: o, b: b, p: place{b.name, address, name, dsn, name}, r: result{broker: b.name, client: b.client, sent: o.n}}
	if t.st, err = postgres.Open(ctx, dsn, postgres.Options{Schema: name, Migrate: true}); err != nil {
		return r, err
	}
	defer func() {
		_, dropErr := t.st.DB().Exec(strings.ReplaceAll(dropSQL, "{{schema}}", name))
		err = errors.Join(err, dropErr, t.st.Close())
	}()
	if _, err := t.st.DB().ExecContext(ctx, "CREATE TABLE effects (n bigint NOT NULL)"); err != nil {
		return r, err
	}
	source, err := b.open(ctx, address, name) // makes the topic
	if err != nil {
		return r, err
	}
	if err := source.Close(); err != nil {
		return r, err
	}
	begun := time.Now()
	if err := t.run(ctx); err != nil {
		return r, err
	}
	t.r.took = time.Since(begun)
	return t.r, t.count(ctx)
}

// run sends all messages and waits until they are applied, or nothing happens any more.
func (t *trial) run(ctx context.Context) error {
	defer t.stop()
	for range workers {
		cmd, err := t.p.start()
		if err != nil {
			return err
		}
		t.running = append(t.running, cmd)
	}
	send := exec.CommandContext(ctx, t.python, filepath.Join("tests", "foreign", "send.py"), t.b.name, t.p.address, t.p.topic, "1", strconv.Itoa(t.n))
	send.Stderr = os.Stderr
	if err := send.Start(); err != nil {
		return fmt.Errorf("start the sender: %w", err)
	}
	err := t.disturb(ctx)
	if sent := send.Wait(); err == nil && sent != nil {
		err = fmt.Errorf("the sender: %w", sent)
	}
	if err != nil {
		return err
	}
	return t.reach(ctx, t.n)
}

// disturb kills a worker each time that another part of the messages is applied, and the
// broker in the middle. After that it freezes a worker.
func (t *trial) disturb(ctx context.Context) error {
	for i := range t.kills {
		if err := t.reach(ctx, (i+1)*t.n/(t.kills+2)); err != nil {
			return err
		}
		if t.b.restart && i == t.kills/2 {
			if out, err := exec.CommandContext(ctx, filepath.Join("scripts", "services"), "restart", t.b.name).CombinedOutput(); err != nil {
				return fmt.Errorf("restart the broker: %w: %s", err, out)
			}
			t.r.restarted++
		}
		victim := t.running[i%workers]
		_ = victim.Process.Kill()
		_ = victim.Wait()
		cmd, err := t.p.start()
		if err != nil {
			return err
		}
		t.running[i%workers] = cmd
		t.r.killed++
	}
	return t.freeze(ctx)
}

// freeze stops a worker in the middle of its work (SIGSTOP), and has it go on when others have
// its messages.
func (t *trial) freeze(ctx context.Context) error {
	if err := t.reach(ctx, (t.kills+1)*t.n/(t.kills+2)); err != nil {
		return err
	}
	frozen := t.running[0].Process
	if err := frozen.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freeze a worker: %w", err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(freezeTime):
	}
	if err := frozen.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("have a worker go on: %w", err)
	}
	t.r.frozen++
	return ctx.Err()
}

// reach waits until so many numbers are applied, or none came for as long as idleTimeout.
func (t *trial) reach(ctx context.Context, want int) error {
	last, since := -1, time.Now()
	for {
		_, n, err := t.effects(ctx)
		switch {
		case err != nil || n >= want:
			return err
		case n > last:
			last, since = n, time.Now()
		case time.Since(since) > idleTimeout:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (t *trial) stop() {
	for _, w := range t.running {
		_ = w.Process.Signal(syscall.SIGTERM)
	}
	for _, w := range t.running {
		_ = w.Wait()
	}
}

// effects returns how many effects there are, and of how many messages.
func (t *trial) effects(ctx context.Context) (all, distinct int, err error) {
	err = t.st.DB().QueryRowContext(ctx, "SELECT count(*), count(DISTINCT n) FROM effects").Scan(&all, &distinct)
	return all, distinct, err
}

func (t *trial) count(ctx context.Context) error {
	all, distinct, err := t.effects(ctx)
	if err != nil {
		return err
	}
	t.r.lost, t.r.twice = t.n-distinct, all-distinct
	if err := t.st.DB().QueryRowContext(ctx, "SELECT count(*) FROM headrace_dead_letters").Scan(&t.r.letters); err != nil {
		return err
	}
	report, err := store.Checker(t.st).Check(ctx)
	for _, rule := range report.Rules {
		t.r.violated += int(rule.Violations)
	}
	return err
}
