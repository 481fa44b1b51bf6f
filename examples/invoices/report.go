package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/headrace/headrace/ledger"
)

// things says what each step makes.
var things = map[string]string{
	"customer": "customers", "invoice": "invoices", "booking": "bookings", "commission": "payouts", "confirm": "mails",
}

// line is the table's line of a step: counts of orders, by the systems' log.
type line struct {
	step, system string
	recover      ledger.Recovery
	// once, twice and missing are orders for which the thing was made once, more often, and
	// not at all. skipped are those of missing of which the ledger says so.
	once, twice, missing, skipped int
	// requests is how many did something, lost how many of these had no answer in time.
	requests, lost int
}

// report prints what the systems' own log says, and fails where it is not what was
// promised.
func (s *scene) report(ctx context.Context, out io.Writer) error {
	entries, err := readLog(s.log())
	if err != nil {
		return err
	}
	skipped, err := s.skipped(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\nSTEP\tSYSTEM\tRECOVERY\tONCE\tTWICE\tMISSING\tSKIPPED\tREQUESTS\tANSWER LOST")
	wrong := false
	of := newSystems("")
	for _, d := range []ledger.Declared{of.customer, of.invoice, of.booking, of.commission, of.confirm} {
		spec, err := d.Declare()
		if err != nil {
			return err
		}
		l := line{step: spec.Name, system: spec.System, recover: spec.Recover}
		l.count(entries, s.n, skipped)
		wrong = wrong || l.twice > 0 || l.missing > l.skipped
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", l.step, l.system, l.recover, l.once, l.twice, l.missing, l.skipped, l.requests, l.lost)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	rows, orders, err := s.synced(ctx)
	if err != nil {
		return err
	}
	say(out, "\n%d orders, each in the table synced once: %t. The process was killed %d times.", s.n, rows == s.n && orders == s.n, s.kills)
	say(out, "A person decided on %d calls whose outcome was unknown, and sent %d other dead letters again.", s.person.Decided, s.person.Redriven)
	var one int
	var made string
	err = s.db.DB.QueryRowContext(ctx, "SELECT order_id, invoice_id FROM synced ORDER BY order_id LIMIT 1").Scan(&one, &made)
	if err := errors.Join(err, s.db.MadeOnce(ctx, "erp", made)); err != nil {
		return err
	}
	say(out, next, s.Where(), one, made)
	if wrong || rows != s.n || orders != s.n {
		return errors.New("something was done twice, or was lost")
	}
	return s.db.Invariants(ctx)
}

// count counts the entries of one step.
func (l *line) count(entries []entry, n int, skipped map[int]bool) {
	made := make([]int, n)
	for _, e := range entries {
		if e.System != l.system || e.What != things[l.step] {
			continue
		}
		if l.requests++; e.Lost {
			l.lost++
		}
		if !e.Known {
			made[e.Order]++
		}
	}
	for i, times := range made {
		switch {
		case times == 1:
			l.once++
		case times > 1:
			l.twice++
		default:
			if l.missing++; l.recover == ledger.Skip && skipped[i] {
				l.skipped++
			}
		}
	}
}

// skipped returns the orders whose mail the ledger has skipped.
func (s *scene) skipped(ctx context.Context) (map[int]bool, error) {
	rows, err := s.db.Operations().StepAdmin.Search(ctx, ledger.Filter{State: ledger.Skipped}, s.n)
	if err != nil {
		return nil, err
	}
	orders := make(map[int]bool)
	for _, row := range rows {
		number, err := orderOf(row.ID)
		if err != nil {
			return nil, err
		}
		orders[number] = true
	}
	return orders, nil
}

// next is what to try next.
const next = `
What to try next:
  export HEADRACE_DSN=%s
  go run ./cmd/headrace steps order:%-13d # what one order did, under which keys
  go run ./cmd/headrace steps ls --state skipped  # mails that may be missing
  go run ./cmd/headrace steps find erp %-10s # which order made this invoice`
