package read

import (
	"context"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ui/view"
)

const (
	// oldPending is how long a step is pending before it is listed: most calls last seconds.
	oldPending = time.Hour
	// MostSteps bounds a list of steps, and the steps of a key that are shown.
	MostSteps = 500
)

// Asked is which steps a person looks for: those of a Key, those that made ID in System, or else those
// in a State; without any, those that wait for a person.
type Asked struct{ Key, System, ID, State string }

// StepStates are the states that may be asked for.
var StepStates = []string{string(ledger.Parked), string(ledger.Pending), string(ledger.Skipped), string(ledger.Awaiting), string(ledger.Doubled)}

// Steps is what the page of steps shows.
type Steps struct {
	Asked
	// Lists are the steps, Of those of the key, Hidden how many of them are not shown.
	Lists  []StepList
	Of     []Step
	Hidden int
	// Systems are those that were paused, but for the steps of a key or an id.
	Systems []ledger.SystemPause
	// Revealed says that all of the results are shown.
	Revealed bool
	// Seen is what the form of a key carries, SeenSystems those of the systems.
	Seen, SeenSystems string
}

// StepList is a list of steps, the oldest change first.
type StepList struct {
	// Name says what they have in common, Rows are the first of them, and More says that there are others.
	Name string
	Rows []ledger.Row
	More bool
}

// Step is a step with what a person can do about it.
type Step struct {
	ledger.Row
	// IdempotencyKey is that of its latest call; "" of a signal.
	IdempotencyKey string
	// Until is when the time of a signal is over that is waited for.
	Until time.Time
	// LetterID is the open dead letter of its message; 0 if there is none.
	LetterID int64
	inspect.Advice
	// Shown says that Content is what may be seen of the result, and Blank what is not.
	Shown   bool
	Content view.Payload
	Blank   []string
}

// Steps reads what the page of steps shows, at most the first rows of each list, but for results that
// may not be seen.
func (r Reader) Steps(ctx context.Context, a Asked, rows int) (d Steps, err error) {
	d.Asked, rows = a, min(rows, MostSteps)
	switch {
	case a.Key != "":
		return d, r.stepsOf(ctx, &d)
	case a.System != "" && a.ID != "":
		found := StepList{Name: "Found"}
		found.Rows, err = r.Store.Operations().StepAdmin.Find(ctx, a.System, a.ID, rows+1)
		d.Lists = []StepList{found.cut(rows)}
		return d, err
	}
	type search struct {
		name string
		f    ledger.Filter
	}
	list := []search{{"Need a person", ledger.Filter{State: ledger.Parked}}, {"The outcome of the call is unknown for more than an hour", ledger.Filter{State: ledger.Pending, Idle: oldPending}}}
	if a.State != "" {
		list = []search{{stateNames[ledger.State(a.State)], ledger.Filter{State: ledger.State(a.State)}}}
	}
	if ledger.State(a.State) == ledger.Doubled {
		list[0].f = ledger.Filter{Doubled: true}
	}
	for _, s := range list {
		one := StepList{Name: s.name}
		if one.Rows, err = r.Store.Operations().StepAdmin.Search(ctx, s.f, rows+1); err != nil {
			return d, err
		}
		d.Lists = append(d.Lists, one.cut(rows))
	}
	d.Systems, d.SeenSystems, err = r.Systems(ctx)
	return d, err
}

// stateNames are the names of lists.
var stateNames = map[ledger.State]string{
	ledger.Parked: "Need a person", ledger.Pending: "The outcome of the call is unknown", ledger.Skipped: "Left out, perhaps", ledger.Awaiting: "Wait for a signal", ledger.Doubled: "Carried out twice",
}

func (l StepList) cut(rows int) StepList {
	if l.More = len(l.Rows) > rows; l.More {
		l.Rows = l.Rows[:rows]
	}
	return l
}

// Systems reads the systems that were paused, and what the forms about them carry.
func (r Reader) Systems(ctx context.Context) (list []ledger.SystemPause, seen string, err error) {
	list, err = r.Store.Operations().Systems.List(ctx)
	var parts []any
	for _, p := range list {
		parts = append(parts, p.System, p.Changed)
	}
	return list, view.Seen(parts...), err
}

// stepsOf reads the steps of the messages with a key, in every scope.
func (r Reader) stepsOf(ctx context.Context, d *Steps) error {
	ops := r.Store.Operations()
	database, err := ops.Schema.Check(ctx)
	if err != nil {
		return err
	}
	entries, err := r.Store.Inbox().Find(ctx, d.Key)
	if err != nil {
		return err
	}
	letters, err := r.Store.Letters().List(ctx, dlq.Filter{Key: d.Key}, 0, MostSteps)
	if err != nil {
		return err
	}
	seen := []any{d.Key}
	for _, e := range entries {
		rows, err := ops.Steps.List(ctx, e.ID)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if seen = append(seen, row.ID.Scope, row.Step, row.Changed); len(d.Of) < MostSteps {
				d.Of = append(d.Of, stepOf(database, e, row, letters))
			} else {
				d.Hidden++
			}
		}
	}
	d.Seen = view.Seen(seen...)
	return nil
}

// stepOf is a step with what a person can do about it.
func stepOf(database string, e inbox.Entry, row ledger.Row, letters []dlq.Letter) Step {
	s := Step{Row: row, IdempotencyKey: inspect.StepKey(database, row)}
	letter := inspect.LetterOf(letters, row.ID)
	if letter != nil {
		s.LetterID = letter.LetterID
	}
	switch {
	case row.OtherID != "" && row.By == "":
		s.Advice = inspect.Advice{Says: "Two calls of it were carried out. Undo the other one in the system, and say so:", Commands: []inspect.Command{{Words: inspect.StepWords("resolve", row, view.Shell) + " --done --reason WHY"}}}
	case row.State == ledger.Awaiting:
		s.Until = time.Now().Add(-row.Age)
		s.Advice = inspect.Advice{Says: "The message waits for this signal.", Commands: []inspect.Command{{Words: inspect.StepWords("send", row, view.Shell) + " VALUE"}}}
	case !e.State.Ended():
		s.Advice = inspect.StepAdvice(row, letter, s.IdempotencyKey, view.Shell)
	}
	return s
}
