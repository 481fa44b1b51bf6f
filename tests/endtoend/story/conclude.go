package story

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/headrace/headrace/store"
)

// report is what a run ends with: the figures, the reasons of the dead letters, and the store's own check.
type report struct {
	Database string `json:"database"`
	figures
	Dead   deadLetters `json:"dead_letters"`
	Check  checked     `json:"check"`
	broken []store.RuleResult
	// delivered says what a delivery is, where it is not one to the consumer.
	delivered string
}

// checked is how many invariants the store's check looked at, and how many do not hold.
type checked struct {
	Rules  int `json:"rules"`
	Broken int `json:"broken"`
}

// conclude asks the tables.
func conclude(ctx context.Context, db *database) (report, error) {
	r := report{Database: db.name}
	var err error
	if r.figures, r.Dead, err = db.figures(ctx); err != nil {
		return r, err
	}
	check, err := db.Check(ctx)
	if err != nil {
		return r, fmt.Errorf("check the store: %w", err)
	}
	for _, rule := range check.Rules {
		if rule.Violations > 0 {
			r.broken = append(r.broken, rule)
		}
	}
	r.Check = checked{len(check.Rules), len(r.broken)}
	return r, nil
}

// violations returns an error for each rule that is broken; nil if none is.
func (r report) violations() error {
	var err error
	if r.Lost != 0 {
		err = errors.Join(err, fmt.Errorf("%d messages are lost: neither applied, dead nor waiting", r.Lost))
	}
	if r.AppliedTwice != 0 {
		err = errors.Join(err, fmt.Errorf("%d orders were applied twice: they have more than one invoice", r.AppliedTwice))
	}
	for _, rule := range r.broken {
		err = errors.Join(err, fmt.Errorf("check %s does not hold: %s (%d times, for example %s)", rule.Name, rule.Says, rule.Violations, rule.Example))
	}
	return err
}

// print writes the report as a table, or as one JSON object.
func (r report) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range []struct {
		name  string
		value int64
		says  string
	}{
		{"delivered", r.Delivered, cmp.Or(r.delivered, "deliveries handed to the consumer")},
		{"messages", r.Messages, "distinct messages among them"},
		{"applied", r.Applied, "became an invoice"},
		{"dead", r.figures.Dead, "became a dead letter instead"},
		{"waiting", r.Waiting, "wait for another try"},
		{"lost", r.Lost, "none of these"},
		{"applied twice", r.AppliedTwice, "orders with more than one invoice"},
		{"duplicates", r.Duplicates, "deliveries beyond the first of their message"},
		{"retried", r.Retried, "failed runs of messages that were applied in the end"},
		{"published", r.Published, "confirmations"},
	} {
		fmt.Fprintf(t, "%s\t%8d\t%s\n", line.name, line.value, line.says)
	}
	if r.Dead.Letters > 0 {
		fmt.Fprintf(t, "\ndead letters\n")
	}
	more := r.Dead.Letters
	for _, g := range r.Dead.Reasons {
		more -= g.Count
		fmt.Fprintf(t, "%s\t%8d\t%s\n", g.Class, g.Count, shown(g.Example))
	}
	if more > 0 {
		fmt.Fprintf(t, "\t%8d\tfor other reasons\n", more)
	}
	if r.Check.Broken == 0 {
		fmt.Fprintf(t, "\nall checks of %s hold\n", r.Database)
	} else {
		fmt.Fprintf(t, "\n%d of %d checks of %s do not hold\n", r.Check.Broken, r.Check.Rules, r.Database)
	}
	return t.Flush()
}

// shown makes a text safe for a terminal, and short.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, strings.ReplaceAll(s, "\n", "; "))
	if runes := []rune(s); len(runes) > 120 {
		return string(runes[:119]) + "…"
	}
	return s
}
