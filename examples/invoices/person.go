package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/examples/internal/database"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
)

// person looks after dead letters, as a person would with "headrace steps resolve" and
// "headrace dlq redrive".
type person struct {
	db  *database.Database
	log string
	// decided and redriven count what the person has done.
	decided, redriven int
}

const name = "the person in this example"

// look looks at each dead letter.
func (p *person) look(ctx context.Context) error {
	letters, err := redrive.New(p.db).List(ctx, dlq.Filter{State: dlq.Open}, 0, 100)
	if err != nil {
		return err
	}
	for _, l := range letters {
		if err := p.decide(ctx, l); err != nil {
			return fmt.Errorf("dead letter %d: %w", l.LetterID, err)
		}
	}
	return nil
}

func (p *person) decide(ctx context.Context, l dlq.Letter) error {
	rows, err := p.db.Operations().Steps.List(ctx, l.ID())
	if err != nil {
		return err
	}
	parked := false
	for _, row := range rows {
		if row.NeedsPerson() {
			parked = true
			if err := p.answer(ctx, row); err != nil {
				return err
			}
		}
	}
	if parked {
		return nil
	}
	p.redriven++
	_, err = redrive.New(p.db).Redrive(ctx, redrive.Request{Filter: dlq.Filter{IDs: []int64{l.LetterID}}, By: name, Reason: "its process was killed too often"})
	return err
}

// answer looks at the statement of the system, when nothing can come any more, and says
// what it shows.
func (p *person) answer(ctx context.Context, row ledger.Row) error {
	if row.Idle < 2*(timeout+findAfter) {
		return nil // later
	}
	number, err := orderOf(row.ID)
	if err != nil {
		return err
	}
	entries, err := readLog(p.log)
	if err != nil {
		return err
	}
	r := resolve.Resolution{ID: row.ID, Step: row.Step, Verdict: resolve.Again, By: name, Reason: "the statement does not have it"}
	for _, e := range entries {
		if e.System == row.System && e.Order == number && things[row.Step] == e.What {
			r.Verdict, r.ExternalID, r.Reason = resolve.Done, e.ID, "the statement has it"
			if r.Result, err = json.Marshal(made{ID: e.ID}); err != nil {
				return err
			}
		}
	}
	if _, err := resolve.New(p.db).Resolve(ctx, r); err != nil {
		return err
	}
	p.decided++
	return nil
}

// orderOf is the number of the order of a message.
func orderOf(id inbox.ID) (number int, err error) {
	if _, err := fmt.Sscanf(id.Key, "order:%d", &number); err != nil {
		return 0, fmt.Errorf("the key %q: %w", id.Key, err)
	}
	return number, nil
}

// readLog reads the log of the systems.
func readLog(file string) (entries []entry, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // also before the end of a line that is being written
			return entries, nil
		}
		var e entry
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil {
			return nil, fmt.Errorf("read the systems' log: %w", err)
		}
		entries = append(entries, e)
	}
}
