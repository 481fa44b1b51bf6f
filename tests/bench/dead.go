package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
)

// A tenth of the letters have the reason that is redriven.
const (
	letters       = 1_000_000
	lettersOfEach = 10
)

var lettersFixture = &fixture{
	name: "dead letters", rows: func(*lab) int { return letters }, times: lettersOfEach,
	fill: func(ctx context.Context, l *lab, rows int) error {
		const most = 100_000
		for first := 0; first < rows; first += most {
			if _, err := l.db.ExecContext(ctx, l.query("letters_fill"), first, min(first+most, rows), rows); err != nil {
				return err
			}
		}
		_, err := l.db.ExecContext(ctx, l.query("letters_analyze"))
		return err
	},
}

func deadPart() []benchmark {
	part := []benchmark{
		{
			name: "dead_list", says: "the newest 100 of 1M dead letters; calls a second, p50 and p99 of a call",
			run: runAdmin(listLetters),
		},
		{
			name: "dead_group", says: "the groups of 1M dead letters; calls a second, p50 and p99 of a call",
			run: runAdmin(groupLetters),
		},
		{
			name: "dead_redrive", says: "redrive of the 100k of 1M dead letters with one reason; letters a second, p50 and p99 of a batch of up to 500",
			run: runRedrive,
		},
	}
	for i := range part {
		part[i].part, part[i].fixture = "dead", lettersFixture
	}
	return part
}

// runAdmin measures what a person waits for who looks at dead letters.
func runAdmin(look func(context.Context, *lab, *redrive.Admin) error) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (figure Figure, err error) {
		st, err := l.openStore(ctx)
		if err != nil {
			return Figure{}, err
		}
		defer func() { err = errors.Join(err, st.Close()) }()
		admin := redrive.New(st)
		if err := look(ctx, l, admin); err != nil {
			return Figure{}, err
		}
		var h histogram
		n := 0
		watch := l.startWatch(ctx)
		for time.Since(watch.began) < a.time || n < a.messages {
			began := time.Now()
			if err := look(ctx, l, admin); err != nil {
				return Figure{}, err
			}
			h.add(time.Since(began))
			n++
		}
		return watch.figure(ctx, n, &h), nil
	}
}

func listLetters(ctx context.Context, l *lab, admin *redrive.Admin) error {
	const page = 100
	list, err := admin.List(ctx, dlq.Filter{}, 0, page)
	if err == nil && len(list) != page {
		err = fmt.Errorf("verify: a page of %d letters", len(list))
	}
	return err
}

func groupLetters(ctx context.Context, l *lab, admin *redrive.Admin) error {
	groups, err := admin.Groups(ctx, dlq.Filter{})
	if err != nil {
		return err
	}
	var found, wanted int64
	for _, g := range groups {
		found += g.Count
	}
	if _, err := fmt.Sscan(l.stands, &wanted); err != nil || found != wanted {
		return fmt.Errorf("verify: %d letters in the groups of %s (%w)", found, l.stands, err)
	}
	return nil
}

// runRedrive redrives the letters of one reason, and proves that each is where it
// belongs.
func runRedrive(ctx context.Context, l *lab, a amount) (figure Figure, err error) {
	st, err := l.openStore(ctx)
	if err != nil {
		return Figure{}, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	l.stands = "" // from now on
	var reason string
	if err := l.db.QueryRowContext(ctx, l.query("letters_reason")).Scan(&reason); err != nil {
		return Figure{}, err
	}
	var h histogram
	watch := l.startWatch(ctx)
	last := watch.began
	done, err := redrive.New(st).Redrive(ctx, redrive.Request{
		Filter: dlq.Filter{ErrorFingerprint: reason}, By: "bench", Reason: "the service answers again",
		Progress: func(int) {
			h.add(time.Since(last))
			last = time.Now()
		},
	})
	if err != nil {
		return Figure{}, err
	}
	figure = watch.figure(ctx, done.Done, &h)
	var letters, messages, rows, audits int
	if err := l.db.QueryRowContext(ctx, l.query("letters_redriven")).Scan(&letters, &messages, &rows, &audits); err != nil {
		return Figure{}, fmt.Errorf("verify: %w", err)
	}
	if want := a.or(100_000); done.Done != want || letters != want || messages != want || rows != want || audits != want {
		return Figure{}, fmt.Errorf("verify: %d letters were to be redriven; %d were, %d are marked, %d messages wait, %d are in the backlog, %d audit rows",
			want, done.Done, letters, messages, rows, audits)
	}
	return figure, check(ctx, st)
}
