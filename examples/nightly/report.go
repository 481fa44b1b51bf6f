package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// report prints what the books and the table booked say, and fails where it is not what was
// promised.
func (s *scene) report(ctx context.Context, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\nNIGHT\tSOLD\tTOLD\tMISSING\tSTARTED\tTOLD LATER\tPERSON ASKED\tONCE\tTWICE\tLOST")
	wrong := false
	for k, n := range s.nights {
		once, twice := 0, 0
		err := s.db.DB.QueryRowContext(ctx, "SELECT COALESCE(sum(CASE WHEN n = 1 THEN 1 ELSE 0 END), 0), COALESCE(sum(CASE WHEN n > 1 THEN 1 ELSE 0 END), 0)"+
			" FROM (SELECT count(*) AS n FROM booked WHERE order_id BETWEEN $1 AND $2 GROUP BY order_id) AS b", n.first, n.last).Scan(&once, &twice)
		if err != nil {
			return err
		}
		sold := n.last - n.first + 1
		wrong = wrong || once != sold
		_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%t\t%d\t%d\t%d\n", k+1, sold, n.told, n.found.Missing, n.found.Enqueued, n.later, n.asked, once, twice, sold-once-twice)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	letters, err := s.letters(ctx)
	if err != nil {
		return err
	}
	say(out, "\nThe process was killed %d times, half of them while it compared.", s.kills)
	say(out, next, s.Where())
	switch {
	case wrong:
		return errors.New("an order was booked twice, or was lost")
	case letters > 0:
		return fmt.Errorf("there are %d dead letters", letters)
	}
	return s.db.Invariants(ctx)
}

// next is what to try next.
const next = `
What to try next:
  export HEADRACE_DSN=%s
  go run ./cmd/headrace schedule ls         # until when each job has compared, and what was missing
  go run ./cmd/headrace inbox show order:7  # what became of one order`
