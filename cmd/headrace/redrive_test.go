package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// billing is a process of the consumer billing. Its handler fails for the keys in bad, and is
// called once for each message that it applies.
type billing struct {
	bad     sync.Map
	applied sync.Map
	stop    func()
}

// start starts a process that runs a build on the program's database.
func (b *billing) start(p *program, build string) {
	p.Helper()
	db, err := parseDSN(p.dsn)
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	st, err := New().open(ctx, db, "", false)
	if err != nil {
		p.Fatal(err)
	}
	_ = st.Operations().Instances.End(ctx, "i-1") // that of the seed does not run
	source := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	c, err := consumer.New("billing", st.Store, consumer.Config{Source: source, Key: inbox.MessageID(), Build: build, Rehearsable: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		p.Fatal(err)
	}
	consumer.Handle(c, "orders.paid", func(_ context.Context, _ *headrace.Tx, m *headrace.Message[map[string]any]) error {
		if _, bad := b.bad.Load(m.Delivery.Key); bad {
			return retry.Permanent(errors.New("still broken"))
		}
		n, _ := b.applied.LoadOrStore(m.Delivery.Key, new(atomic.Int32))
		n.(*atomic.Int32).Add(1)
		return nil
	})
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			p.Error(err)
		}
	})
	waitsListed(p.Fatalf, st.Operations().Instances, build)
	b.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		_ = source.Close()
		if err := st.Close(); err != nil {
			p.Error(err)
		}
	})
	p.Cleanup(b.stop)
	for until := time.Now().Add(time.Minute); ; {
		list, err := st.Operations().Instances.List(ctx, "billing")
		if err != nil || time.Now().After(until) {
			p.Fatalf("the process does not start: %v", err)
		}
		if len(list) > 0 && list[0].Build == build && list[0].Ended.IsZero() {
			return
		}
	}
}

func quickly(m *Main) { m.ProgressEvery = 100 * time.Millisecond }

func (p *program) wants(where string, texts ...string) {
	p.Helper()
	out := p.stdout.String() + p.stderr.String()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			p.Errorf("%s: no %q in\n%s", where, text, out)
		}
	}
}

// The operator's path: plan, apply, and what became of the letters.
//
//evidence:redrive-job
func TestRedrivePath(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.seed("dead", "30")
	p.run(exitRefused, quickly, "redrive", "plan", "--consumer", "billing")
	p.wants("no process", "no process of billing answers")
	var b billing
	b.start(p, "v1")
	b.bad.Store("k7", true)
	b.bad.Store("k20", true)
	p.run(exitDone, quickly, "redrive", "plan", "--consumer", "billing", "--window", "5")
	p.wants("plan", "R-1  redrive 30 letters (consumer billing), listed by id, valid until 20", "ok    30 of 30 open", "ok    billing runs v1 on 1", "stages 1, 10, 19; ", "next: headrace redrive apply R-1 --reason WHY")
	p.run(exitUsage, quickly, "redrive", "apply", "R-1")
	for _, too := range []string{"watch", "resume"} { // soon
		p.run(exitRefused, quickly, "redrive", too, "R-1")
		p.wants(too, "refused: ", "next: headrace redrive show R-1")
	}
	p.run(exitPaused, quickly, "redrive", "apply", "R-1", "--reason", "fixed", "--by", "bo")
	p.wants("apply", "R-1 paused in stage 2: letter 7 failed again as letter 31", "1 failed again", "queued", "letter 7 failed again as letter 31", "next: headrace redrive resume R-1")
	p.run(exitRefused, quickly, "redrive", "apply", "R-1", "--reason", "mine")
	p.wants("apply again", "refused: R-1 was applied by bo at")
	p.run(exitDone, quickly, "redrive", "resume", "R-1")
	p.run(exitPaused, quickly, "redrive", "watch", "1")
	p.run(exitDone, quickly, "redrive", "ls", "--consumer", "billing")
	p.wants("ls", "R-1", "paused")
	p.run(exitDone, quickly, "redrive", "letters", "R-1", "--state", "failed")
	p.wants("letters", "7  ", "failed", "31")
	b.bad.Clear()
	p.run(exitDone, quickly, "redrive", "resume", "R-1")
	p.run(exitPartial, quickly, "redrive", "watch", "R-1")
	p.wants("the end", "R-1 done", "28 succeeded, 2 failed again", "applied by bo", "letter 7 failed again as letter 31, in group ", "next: headrace dlq why ")
	p.run(exitRefused, quickly, "redrive", "resume", "R-1")
	p.wants("resume a done one", "refused: R-1 is done", "next: headrace redrive show R-1\n")
	p.run(exitDone, quickly, "dlq", "show", "7")
	p.wants("show", "redrive by bo: fixed, in R-1")
	b.applied.Range(func(key, n any) bool {
		if n.(*atomic.Int32).Load() != 1 {
			t.Errorf("%s was applied %d times", key, n.(*atomic.Int32).Load())
		}
		return true
	})
	p.run(exitDone, nil, "check")
}

// A group is planned, applied and watched by one command.
func TestRedriveGroup(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.seed("dead", "3")
	p.run(exitRefused, quickly, "dlq", "redrive", "a276", "--reason", "fixed", "--yes")
	p.wants("no process", "refused: no process of billing answers; none ran in the last hour. Nothing was done. ", "with --direct does it by itself: headrace dlq redrive a276 --reason fixed --yes --direct\n", "next: headrace consumer ls\n")
	var b billing
	b.start(p, "v1")
	p.run(exitUsage, quickly, "dlq", "redrive", "a276", "--yes")
	p.run(exitUsage, quickly, "dlq", "redrive", "a276", "--reason", "fixed")
	p.run(exitUsage, quickly, "dlq", "redrive", "a276", "--reason", "fixed", "--yes", "--limit", "1")
	p.run(exitFailed, quickly, "dlq", "redrive", "aaaa", "--reason", "fixed", "--yes")
	p.stdin = "no\n"
	p.run(exitRefused, func(m *Main) { quickly(m); m.Terminal = func(any) bool { return true } }, "dlq", "redrive", "a276", "--reason", "fixed")
	p.wants("no", "R-1  redrive 3 letters", "redrive 3 letters (error fingerprint a276", "? [y/N]", "nothing was done")
	p.run(exitDone, quickly, "dlq", "redrive", "a276", "--reason", "fixed", "--yes")
	p.wants("yes", "R-2  redrive 3 letters", "R-2 done", "3 succeeded")
	p.run(exitDone, nil, "check")
}

// Letters that are named are sent at once, and the command says what became of each.
func TestRedriveFew(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.seed("dead", "4")
	p.run(exitRefused, quickly, "dlq", "redrive", "1", "--reason", "that's mended", "--yes")
	p.wants("no process", "refused: no process of billing answers", `with --direct does it by itself: headrace dlq redrive 1 --reason 'that'\''s mended' --yes --direct`+"\n", "next: headrace consumer ls\n")
	var b billing
	b.start(p, "v1")
	b.bad.Store("k2", true)
	p.run(exitUsage, quickly, "dlq", "redrive", "1", "--yes")
	p.run(exitUsage, quickly, "dlq", "redrive", "1", "--reason", "again")
	p.run(exitFailed, quickly, "dlq", "redrive", "98", "99", "--reason", "again", "--yes")
	p.wants("none", "98  skipped: there is no such letter")
	p.run(exitPartial, quickly, "dlq", "redrive", "1", "2", "99", "--reason", "again", "--yes", "--by", "ann")
	p.wants("some", "R-1 done", "99  skipped: there is no such letter", "1   succeeded", "2   failed again; dead again as letter 5", "next: headrace dlq show 5")
	p.run(exitPartial, quickly, "dlq", "redrive", "2", "3", "--reason", "again", "--yes")
	p.wants("before", "2  skipped: it was redriven by ann in R-1, 20", "dead again as letter 5", "3  succeeded")
	p.run(exitDone, quickly, "dlq", "discard", "4", "--reason", "test data", "--yes")
	p.wants("discard", "R-3 done", "4  discarded")
	p.run(exitDone, quickly, "dlq", "discard", "5", "--reason", "test data", "--dry-run")
	p.wants("dry", "would discard 1 letter")
	p.seed("steps", "s1")
	p.run(exitRefused, quickly, "dlq", "discard", "6", "--reason", "test data", "--yes")
	p.wants("an open call", "R-4 done", "6  skipped", "next: headrace dlq show 6", "refused: nothing was done")
	if strings.Contains(p.stderr.String(), "take it back") {
		t.Errorf("nothing was discarded: %s", &p.stderr)
	}
	p.run(exitDone, nil, "check")
}

// The first digits of a group may be those of a letter's number: what exists decides, and where both do
// a person says which.
func TestGroupOfDigits(t *testing.T) {
	p := newProgram(t)
	p.seed("dead-digits", "1")
	var b billing
	b.start(p, "v1")
	p.run(exitDone, quickly, "dlq", "rehearse", "5959")
	p.wants("rehearse", "1 of 1 letter", "next: headrace redrive plan 5959abcdef012345")
	p.run(exitDone, quickly, "dlq", "why", "5959")
	p.run(exitDone, quickly, "dlq", "why", "1")
	p.wants("why of a letter", "5959abcdef012345  ")
	p.run(exitDone, quickly, "dlq", "redrive", "5959", "--dry-run")
	p.wants("redrive", "would redrive 1 letter (error fingerprint 5959abcdef012345)")
	p.run(exitDone, quickly, "dlq", "redrive", "5959", "--consumer", "billing", "--dry-run")
	p.wants("with an owner", "would redrive 1 letter (")
	p.run(exitFailed, quickly, "dlq", "show", "5959")
	p.wants("show", "no such dead letter: 5959", "next: headrace dlq why 5959")
	p.run(exitFailed, quickly, "dlq", "why", "5958")
	p.run(exitFailed, quickly, "dlq", "rehearse", "5958")

	db, err := sql.Open("sqlite", strings.TrimPrefix(p.dsn, "sqlite:"))
	if err == nil {
		_, err = db.Exec("UPDATE sqlite_sequence SET seq = 5958 WHERE name = 'headrace_dead_letters'")
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	p.seed("dead", "1")
	for _, command := range []string{"why", "rehearse", "redrive --dry-run", "discard --reason x --dry-run", "discard --direct --reason x --dry-run"} {
		args := append([]string{"dlq"}, strings.Fields(command)...)
		p.run(exitUsage, quickly, append(args, "5959")...)
		p.wants(command, "5959 is the number of a letter, and the first digits of group 5959abcdef012345: say which with --letter 5959 or --group 5959")
		p.run(exitDone, quickly, append(args, "--letter", "5959")...)
		p.wants(command + " of the letter")
		letter := p.stdout.String()
		p.run(exitDone, quickly, append(args, "--group", "5959")...)
		if p.stdout.String() == letter {
			t.Errorf("%s has no choice: %s", command, letter)
		}
		p.run(exitUsage, quickly, append(args, "--group", "5959", "--letter", "5959")...)
	}
}

// A plan says what another redrive has, what has been decided since, and that it is too late.
func TestPlanOfTheSameLetters(t *testing.T) { // not in parallel: every test of the process gets its SIGINT
	p := newProgram(t)
	p.seed("dead", "3")
	var b billing
	b.start(p, "v1.2.3")
	p.run(exitDone, quickly, "redrive", "plan", "--consumer", "billing")
	p.wants("plan", "warn  v1.2.3 wrote these letters, and no other build runs: has the cause been mended?")
	p.run(exitDone, quickly, "consumer", "pause", "billing")
	p.run(exitDone, quickly, "redrive", "apply", "R-1", "--reason", "first", "--anyway", "--detach")
	for _, w := range []struct {
		terminal   bool
		args, want string
	}{
		{false, "", "R-1 0 of 3: stage 1, 3 queued"},
		{true, "--progress ndjson", `{"v":1,"progress":"R-1","done":0,"total":3,"note":"stage 1, 3 queued`},
	} {
		stderr := &interrupter{t: t}
		p.run(exitInterrupted, func(m *Main) {
			stderr.setUp(m)
			m.Terminal = func(any) bool { return w.terminal }
		}, append([]string{"redrive", "watch", "R-1"}, strings.Fields(w.args)...)...)
		if text := stderr.String(); !strings.Contains(text, w.want) || !strings.Contains(text, "R-1 goes on: headrace redrive watch R-1") {
			t.Errorf("%+v: %s", w, text)
		}
	}
	p.run(exitDone, quickly, "redrive", "plan", "--consumer", "billing")
	p.wants("plan", "warn  3 are in another redrive that is not finished, too: headrace redrive show R-1")
	p.run(exitDone, quickly, "redrive", "pause", "R-1", "--reason", "stop")
	p.run(exitDone, quickly, "consumer", "resume", "billing")
	p.run(exitDone, quickly, "redrive", "apply", "R-2", "--reason", "second")
	p.run(exitDone, quickly, "redrive", "show", "R-1")
	p.wants("show", "R-1 paused in stage 1: by ", "3 queued", "of those queued 0 are open, and others have decided on 3")
	p.run(exitDone, quickly, "redrive", "cancel", "R-1", "--reason", "not now")
	p.run(exitPartial, quickly, "redrive", "watch", "R-1")
	p.wants("watch", "R-1 was cancelled: letters that were not sent stay open")
	p.run(exitDone, nil, "check")
}

// Any person can pause and cancel a redrive. A rollback is refused.
func TestRedriveOfAnotherBuild(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.seed("dead", "3")
	var b billing
	b.start(p, "v2")
	p.run(exitDone, quickly, "redrive", "plan", "--consumer", "billing")
	b.stop()
	b.start(p, "v1")
	p.run(exitRefused, quickly, "redrive", "apply", "R-1", "--reason", "fixed")
	p.wants("apply", "R-1 cannot be applied now: billing runs v1 now, and ran v2 then")
	p.run(exitDone, quickly, "redrive", "apply", "R-1", "--reason", "fixed", "--accept-build")
	p.wants("apply", "3 succeeded")
	p.run(exitRefused, quickly, "redrive", "pause", "R-1", "--reason", "stop")
	p.wants("pause", "R-1 is done")
	p.seed("conflict", "k1")
	p.run(exitDone, quickly, "redrive", "plan", "--class", "conflict", "--discard")
	p.run(exitDone, quickly, "redrive", "cancel", "R-2", "--reason", "not now")
	p.wants("cancel", "R-2 cancelled: by ", "not now")
	p.run(exitFailed, quickly, "redrive", "show", "R-3")
	p.run(exitUsage, quickly, "redrive", "show", "three")
	p.run(exitUsage, quickly, "redrive", "plan")
	p.run(exitFailed, quickly, "redrive", "plan", "--consumer", "mailer")
}
