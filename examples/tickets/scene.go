package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/headrace/headrace/examples/internal/child"
	"github.com/headrace/headrace/examples/internal/database"
	"github.com/headrace/headrace/examples/internal/person"
	"github.com/headrace/headrace/intent"
)

// scene is what the program does beside its child.
type scene struct {
	*options
	db      *database.Database
	outside *outside
	url     string // of outside
	person  person.Person
	// approved has what the person said of the refund of a mail.
	approved map[int]bool
}

// scene plays it, and reports.
func (o *options) scene(ctx context.Context, out io.Writer) (err error) {
	db, err := o.Begin(ctx, "tickets", "CREATE TABLE answered (mail_id integer, ticket_id text, refund_id text)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := &scene{options: o, db: db, outside: newOutside(o.faults), approved: make(map[int]bool)}
	s.person = s.newPerson()
	url, closeOutside, err := child.Host(s.outside)
	if err != nil {
		return err
	}
	defer closeOutside()
	s.url = url
	if err := s.play(ctx, out); err != nil {
		return err
	}
	return s.report(ctx, out)
}

func (s *scene) start() (*child.Process, error) {
	return child.Start(s.Dir, "worker", append(s.Args(), "-outside", s.url)...)
}

// longestRun is how long a worker lives at most after its first call, until it is killed.
const longestRun = 300 * time.Millisecond

// play has all mails come, while the worker is killed, and waits until each is answered.
func (s *scene) play(ctx context.Context, out io.Writer) error {
	client, err := intent.NewClient(s.db, intent.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	sent := 0
	for k := range s.kills + 1 {
		next := s.n * (k + 1) / (s.kills + 1)
		for ; sent < next; sent++ {
			if err := s.send(ctx, client, sent+1); err != nil {
				return err
			}
		}
		worker, err := s.start()
		if err != nil {
			return err
		}
		if k == s.kills {
			return errors.Join(s.settle(ctx), worker.Stop())
		}
		err = s.called(ctx)
		time.Sleep(rand.N(longestRun)) // a random moment of the work
		if err := errors.Join(err, worker.Kill(), s.look(ctx)); err != nil {
			return err
		}
		say(out, "%d mails came, %d kills", sent, k+1)
	}
	return nil
}

// send starts the intent of a mail, twice: the mailbox is read again.
func (s *scene) send(ctx context.Context, client *intent.Client, id int) error {
	m := mail{ID: id, Text: fmt.Sprintf("Where is my parcel %d?", id/2%((s.n+3)/4))}
	for range 2 {
		if _, err := mails.Start(ctx, client, intent.Request[mail]{Value: m}); err != nil {
			return err
		}
	}
	return nil
}

// called waits until the worker calls something, or does not because nothing is left.
func (s *scene) called(ctx context.Context) error {
	select { // of an earlier worker
	case <-s.outside.came:
	default:
	}
	select {
	case <-s.outside.came:
	case <-time.After(3 * time.Second):
	case <-ctx.Done():
		return child.ErrStopped
	}
	return nil
}

// settle waits until each mail is answered. Meanwhile the person works.
func (s *scene) settle(ctx context.Context) error {
	done := func(ctx context.Context) (int, error) {
		_, done, err := s.answered(ctx)
		return done, err
	}
	return child.Work{Total: s.n, Done: done, Says: "mails are answered", One: "a mail", Meanwhile: s.look}.Settle(ctx, s.Dir)
}

// answered returns how many rows the handler has written, and for how many mails.
func (s *scene) answered(ctx context.Context) (rows, mails int, err error) {
	err = s.db.DB.QueryRowContext(ctx, "SELECT count(*), count(DISTINCT mail_id) FROM answered").Scan(&rows, &mails)
	return rows, mails, err
}
