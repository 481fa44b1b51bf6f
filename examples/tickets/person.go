package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/headrace/headrace/examples/internal/person"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
)

// look has the person approve refunds that wait for it, two of three, and look after the
// dead letters.
func (s *scene) look(ctx context.Context) error {
	waiting, err := s.db.Operations().StepAdmin.Search(ctx, ledger.Filter{State: ledger.Awaiting}, 100)
	if err != nil {
		return err
	}
	for _, row := range waiting {
		number, err := mailOf(row.ID)
		if err != nil {
			return err
		}
		yes := number%3 != 0
		if err := approval.Send(ctx, resolve.New(s.db), row.ID, yes); err != nil {
			return err
		}
		s.approved[number] = yes
	}
	return s.person.Look(ctx)
}

// newPerson is the person, who has the bank's statement.
func (s *scene) newPerson() person.Person {
	return person.Person{Store: s.db, Statement: func(row ledger.Row) (id string, result []byte, certain bool, err error) {
		if row.Idle < 2*(timeout+findAfter) {
			return "", nil, false, nil // it may yet come
		}
		number, err := mailOf(row.ID)
		if err != nil {
			return "", nil, false, err
		}
		for _, e := range s.outside.entries(row.System) {
			if e.Mail == number {
				result, err = json.Marshal(made{ID: e.id})
				return e.id, result, true, err
			}
		}
		return "", nil, true, nil
	}}
}

// mailOf is the number of the mail of a message.
func mailOf(id inbox.ID) (number int, err error) {
	if _, err := fmt.Sscanf(id.Key, "mail:%d", &number); err != nil {
		return 0, fmt.Errorf("the key %q: %w", id.Key, err)
	}
	return number, nil
}
