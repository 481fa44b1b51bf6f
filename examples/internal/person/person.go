package person

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/store"
)

// Name says who decides.
const Name = "the person in this example"

// Person looks after dead letters.
type Person struct {
	Store store.Store
	// Statement looks at the statement of a step's system, and returns the id and the result
	// of what the step has made; "" if it has made nothing, and false while it may yet.
	Statement func(row ledger.Row) (id string, result []byte, certain bool, err error)
	// Decided and Redriven count what the person has done.
	Decided, Redriven int
}

// Look looks at each dead letter.
func (p *Person) Look(ctx context.Context) error {
	letters, err := redrive.New(p.Store).List(ctx, dlq.Filter{State: dlq.Open}, 0, 100)
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

func (p *Person) decide(ctx context.Context, l dlq.Letter) error {
	rows, err := p.Store.Operations().Steps.List(ctx, l.ID())
	if err != nil {
		return err
	}
	parked := false
	for _, row := range rows {
		if row.State == ledger.Parked {
			parked = true
			if err := p.answer(ctx, row); err != nil {
				return err
			}
		}
	}
	if parked {
		return nil
	}
	p.Redriven++
	_, err = redrive.New(p.Store).Redrive(ctx, redrive.Request{Filter: dlq.Filter{IDs: []int64{l.LetterID}}, By: Name, Reason: "its process was killed too often"})
	return err
}

// answer says what the statement shows, when nothing can come any more.
func (p *Person) answer(ctx context.Context, row ledger.Row) error {
	id, result, certain, err := p.Statement(row)
	if err != nil || !certain {
		return err // or later
	}
	r := resolve.Resolution{ID: row.ID, Step: row.Step, Decision: resolve.Done, ExternalID: id, Result: result, By: Name, Reason: "the statement has it"}
	if id == "" {
		r.Decision, r.Reason = resolve.Again, "the statement does not have it"
	}
	if _, err := resolve.New(p.Store).Resolve(ctx, r); err != nil {
		return err
	}
	p.Decided++
	return nil
}
