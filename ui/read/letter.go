package read

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ui/view"
)

// chainShown is how many letters of a message, before and after, a timeline has.
const chainShown = 20

// Letter is what the page of a letter shows.
type Letter struct {
	dlq.Letter
	// Events is the life of its message.
	Events []view.Event
	// Inbox is the inbox row, NextID the letter after this one, 0 if there is none.
	Inbox  inbox.Entry
	NextID int64
	// Steps are those of the message.
	Steps []ledger.Row
	// Others are other letters of its key, at most ten.
	Others []dlq.Letter
	// TraceID and Trace are the trace, and a link to it; "" for none.
	TraceID, Trace string
	// HeaderNames are those of its headers.
	HeaderNames []string
	// Hidden says that the database's login may not read what the message says.
	Hidden bool
	// Shown says that Content and Headers are what may be seen, Blank what is not. Revealed says
	// that it is all.
	Shown, Revealed bool
	Content         view.Payload
	Headers         map[string]string
	Blank           []string
	// Idle is as in Group. MayHaveKey says that it may have a new key.
	Idle, MayHaveKey bool
	// Seen and SeenPlan are what the forms carry: SeenPlan those of plan and discard.
	Seen, SeenPlan string
}

// Letter reads what the page of a letter shows, but for what its message says.
func (r Reader) Letter(ctx context.Context, detail redrive.Detail) (d Letter, err error) {
	l := detail.Letter
	d = Letter{Letter: l, Inbox: detail.Inbox, NextID: detail.NextID, Hidden: detail.Hidden != nil}
	chain, trail, err := r.chain(ctx, detail)
	if err != nil {
		return d, err
	}
	d.Events = view.Timeline(chain, detail.Attempts, trail)
	d.MayHaveKey = inspect.MayHaveKey(&l) == nil
	d.HeaderNames = slices.Sorted(maps.Keys(l.Message().Metadata))
	if !d.Hidden {
		if d.Steps, err = r.Store.Operations().Steps.List(ctx, l.ID()); err != nil {
			return d, err
		}
	}
	others, err := r.Store.Letters().List(ctx, dlq.Filter{Key: l.Delivery.Key, AnyState: true}, 0, 10)
	if err != nil {
		return d, err
	}
	d.Others = slices.DeleteFunc(others, func(o dlq.Letter) bool { return o.LetterID == l.LetterID })
	if parts := strings.Split(l.Delivery.Trace.Parent, "-"); len(parts) == 4 {
		d.TraceID, d.Trace = parts[1], fill(r.TraceURL, "{trace}", parts[1])
	}
	if d.Idle, err = r.Idle(ctx, l.Consumer); err != nil {
		return d, err
	}
	d.Seen, d.SeenPlan, err = r.LetterSeen(ctx, l)
	return d, err
}

// LetterSeen reads what the forms of a letter carry.
func (r Reader) LetterSeen(ctx context.Context, l dlq.Letter) (seen, plan string, err error) {
	newest, err := r.NewestRedrive(ctx, l.Consumer)
	return view.Seen(l.State, l.ChangedAt, l.Rev), view.Seen(l.State, l.ChangedAt, l.Rev, newest), err
}

// chain returns the letters of a message, the first one first, with the decisions on them.
func (r Reader) chain(ctx context.Context, detail redrive.Detail) (chain []dlq.Letter, trail []dlq.Audit, err error) {
	chain, trail = []dlq.Letter{detail.Letter}, detail.Trail
	add := func(id int64, first bool) (dlq.Letter, error) {
		list, err := r.Store.Letters().List(ctx, dlq.Filter{IDs: []int64{id}, AnyState: true}, 0, 1)
		if err != nil || len(list) == 0 {
			return dlq.Letter{}, err
		}
		decisions, err := r.Store.Letters().Trail(ctx, id)
		if trail = append(trail, decisions...); first {
			chain = append(list, chain...)
		} else {
			chain = append(chain, list...)
		}
		return list[0], err
	}
	for id := detail.Letter.PreviousID; id != 0 && len(chain) < chainShown && err == nil; {
		var before dlq.Letter
		before, err = add(id, true)
		id = before.PreviousID
	}
	for id := detail.NextID; id != 0 && len(chain) < 2*chainShown && err == nil; {
		if _, err = add(id, false); err == nil {
			id, err = r.Store.Letters().Next(ctx, id)
		}
	}
	return chain, trail, err
}
