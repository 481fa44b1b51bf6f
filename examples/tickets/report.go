package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// line is the table's line of a system: counts of mails, by the system's log.
type line struct {
	step, system, recover string
	wanted                func(mail int) bool
	// once, twice and missing are mails for which the thing was made once, more often, and not
	// although it was wanted; unwanted those for which it was made and not wanted.
	once, twice, missing, unwanted int
	requests, lost                 int // how many did something; and had no answer
}

// count counts the log.
func (l *line) count(log []entry, n int) {
	times := make([]int, n+1)
	for _, e := range log {
		times[e.Mail]++
		if l.requests++; e.lost {
			l.lost++
		}
	}
	for i, made := range times[1:] {
		wanted := l.wanted(i + 1)
		switch {
		case made == 1 && wanted:
			l.once++
		case made > 1:
			l.twice++
		case made == 0 && wanted:
			l.missing++
		case made == 1:
			l.unwanted++
		}
	}
}

// report prints what the stand-ins' own log says, and fails where it is not what was
// promised.
func (s *scene) report(ctx context.Context, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\nSTEP\tSYSTEM\tRECOVERY\tONCE\tTWICE\tMISSING\tUNWANTED\tREQUESTS\tANSWER LOST")
	wrong := false
	for _, l := range []line{
		{step: "ticket", system: "desk", recover: "probe", wanted: func(int) bool { return true }},
		{step: "refund", system: "bank", recover: "park", wanted: func(mail int) bool { return s.approved[mail] }},
	} {
		l.count(s.outside.entries(l.system), s.n)
		wrong = wrong || l.twice+l.missing+l.unwanted > 0
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", l.step, l.system, l.recover, l.once, l.twice, l.missing, l.unwanted, l.requests, l.lost)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	// The desk's tickets have the answers that were used.
	answers, texts := make(map[string]bool), make(map[string]bool)
	for _, e := range s.outside.entries("desk") {
		texts[e.Text], answers[e.Text+e.Class.Reply] = true, true
	}
	rows, answered, err := s.answered(ctx)
	if err != nil {
		return err
	}
	say(out, "\nThe model was asked %d times for %d mails with %d texts, and answered differently each time: %d answers were used.",
		len(s.outside.entries("model")), s.n, len(texts), len(answers))
	say(out, "%d mails, each in the table answered once: %t. The process was killed %d times.", s.n, rows == s.n && answered == s.n, s.kills)
	say(out, "A person approved or refused %d refunds, decided on %d whose outcome was unknown, and sent %d other dead letters again.",
		len(s.approved), s.person.Decided, s.person.Redriven)
	var one int
	var made string
	err = s.db.DB.QueryRowContext(ctx, "SELECT mail_id, ticket_id FROM answered ORDER BY mail_id LIMIT 1").Scan(&one, &made)
	if err := errors.Join(err, s.db.MadeOnce(ctx, "desk", made)); err != nil {
		return err
	}
	say(out, next, s.Where(), one, made)
	switch {
	case wrong || rows != s.n || answered != s.n:
		return errors.New("something was done twice, or was lost, or was not wanted")
	case len(answers) != len(texts):
		return errors.New("a text has two answers")
	}
	return s.db.Invariants(ctx)
}

// next is what to try next.
const next = `
What to try next:
  export HEADRACE_DSN=%s
  go run ./cmd/headrace steps mail:%-14d # what was done for one mail, and from where its answer came
  go run ./cmd/headrace steps find desk %-9s # which mail made this ticket`
