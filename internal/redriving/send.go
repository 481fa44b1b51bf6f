package redriving

import (
	"context"
	"fmt"
	"slices"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/task"
)

// own is a message under a stand-in key whose handler has given its own key.
type own struct {
	delivery headrace.Delivery
	strict   bool
	// ended says why the letter is closed and not sent: the message was applied under its own
	// key, or waits. It is "" if the letter is sent.
	ended string
}

// send sends the first n candidates, or discards them.
func (s *step) send(ctx context.Context, n int) error {
	chosen := make(map[int64]job.Entry)
	var changed []job.Entry
	p := redrive.Part{By: s.r.AppliedBy, Reason: s.r.Reason, RedriveID: s.r.ID}
	for _, c := range s.candidates[:min(n, len(s.candidates))] {
		if c.Letter == dlq.Open {
			chosen[c.LetterID] = c.Entry
			p.IDs = append(p.IDs, c.LetterID)
			continue
		}
		changed = append(changed, closed(c))
	}
	owns, later := make(map[int64]own), make(map[int64]string)
	p.Look = func(letters []dlq.Letter) ([]redrive.Skip, error) {
		if edited := editedSince(letters, chosen); len(edited) > 0 || s.r.Kind == job.Discarding {
			return edited, nil
		}
		return s.identify(ctx, letters, owns, later)
	}
	moved, refused, err := s.decide(ctx, p, owns)
	if err != nil {
		return err
	}
	sent := 0
	for _, l := range moved {
		e := s.moved(chosen[l.LetterID], owns)
		if delete(chosen, l.LetterID); e.State != job.Skipped {
			sent++
		}
		changed = append(changed, e)
	}
	for _, skip := range refused {
		e := chosen[skip.LetterID]
		if delete(chosen, skip.LetterID); later[skip.LetterID] != "" {
			s.later = later[skip.LetterID]
			continue
		}
		e.State, e.Why = job.Skipped, skip.Why
		changed = append(changed, e)
	}
	for id := range chosen {
		s.later = fmt.Sprintf("letter %d waits: another decision on it is under way", id)
	}
	s.r.Spend(sent, s.r.Now)
	s.r.Tally(changed)
	s.entries = append(s.entries, changed...)
	s.put = sent > 0 && s.r.Kind == job.Redriving
	return nil
}

// closed is the entry of a letter that is not open any more.
func closed(c job.Candidate) job.Entry {
	c.State, c.Why = job.Skipped, "it is "+string(c.Letter)+" already"
	if c.Letter == "" {
		c.Why = "retention has removed it"
	}
	return c.Entry
}

// decide redrives or discards letters.
func (s *step) decide(ctx context.Context, p redrive.Part, owns map[int64]own) ([]dlq.Letter, []redrive.Skip, error) {
	if s.r.Kind == job.Discarding {
		p.OpenCalls = s.r.OpenCalls
		return s.admin().DiscardIn(ctx, s.t, p)
	}
	p.Items = func(letters []dlq.Letter) []backlog.Item { return items(letters, owns) }
	return s.admin().RedriveIn(ctx, s.t, p)
}

// editedSince refuses letters that were edited after they were listed.
func editedSince(letters []dlq.Letter, listed map[int64]job.Entry) (refused []redrive.Skip) {
	for _, l := range letters {
		if l.Rev != listed[l.LetterID].Rev {
			refused = append(refused, redrive.Skip{LetterID: l.LetterID, Why: "it was edited after it was listed: plan it again"})
		}
	}
	return refused
}

// moved is the entry of a letter that was redriven or discarded.
func (s *step) moved(e job.Entry, owns map[int64]own) job.Entry {
	if e.State = job.Sent; s.r.Kind == job.Discarding {
		e.State = job.Succeeded
	}
	o, ok := owns[e.LetterID]
	if !ok {
		return e
	}
	if e.Key, e.OrderKey = o.delivery.Key, ""; o.strict {
		e.OrderKey = o.delivery.OrderKey
	}
	if o.ended != "" {
		e.State, e.Why = job.Skipped, o.ended
	}
	return e
}

// items are the backlog rows of letters; own has what is known of those under stand-in keys.
func items(letters []dlq.Letter, owns map[int64]own) []backlog.Item {
	list := redrive.Items(letters)
	for i := range list {
		if o, ok := owns[list[i].LetterID]; ok {
			list[i].Delivery, list[i].Strict = o.delivery, o.strict
			list[i].Delivery.Attempt = 1
		}
	}
	return slices.DeleteFunc(list, func(i backlog.Item) bool { return owns[i.LetterID].ended != "" })
}

// identify asks the handlers for the keys of letters under stand-in keys, and claims these keys.
// It refuses letters that still have none, and those whose key another letter or content has. The
// reasons of letters that may be sent later are in later.
func (s *step) identify(ctx context.Context, letters []dlq.Letter, owns map[int64]own, later map[int64]string) (refused []redrive.Skip, err error) {
	clear(owns)
	var of []int64
	var claims []inbox.Claim
	for _, l := range letters {
		if !inbox.IsStandIn(l.Delivery.Key) {
			continue
		}
		h := task.Find(s.Handlers, l.Handler)
		if h == nil {
			later[l.LetterID] = fmt.Sprintf("letter %d waits for a process that has the handler %s, for its key", l.LetterID, l.Handler)
			refused = append(refused, redrive.Skip{LetterID: l.LetterID})
			continue
		}
		one := &task.Task{Handler: h, Delivery: l.Message()}
		one.Delivery.Key, one.Delivery.Fingerprint = "", ""
		if h.Identify(one); inbox.IsStandIn(one.Delivery.Key) {
			refused = append(refused, redrive.Skip{LetterID: l.LetterID, Why: "its handler still finds no key in it: headrace dlq redrive with --new-key gives it one"})
			continue
		}
		id := one.ID()
		if slices.ContainsFunc(claims, func(c inbox.Claim) bool { return c.ID == id }) {
			later[l.LetterID] = fmt.Sprintf("letter %d waits behind another one of its key", l.LetterID)
			refused = append(refused, redrive.Skip{LetterID: l.LetterID})
			continue
		}
		owns[l.LetterID] = own{delivery: one.Delivery, strict: h.Strict}
		of, claims = append(of, l.LetterID), append(claims, inbox.Claim{ID: id, Fingerprint: one.Delivery.Fingerprint})
	}
	if len(claims) == 0 || len(refused) > 0 { // it is called again without those
		return refused, nil
	}
	claimed, err := s.Store.Inbox().Claim(ctx, s.t, inbox.ClaimRequest{Claims: claims, Waiting: true, LockTimeout: lockTimeout})
	if err != nil {
		return nil, fmt.Errorf("claim the keys of letters under stand-in keys: %w", err)
	}
	for i, c := range claimed {
		why := s.claimed(c, claims[i], of[i], owns, later)
		if why != "" || later[of[i]] != "" {
			refused = append(refused, redrive.Skip{LetterID: of[i], Why: why})
		}
	}
	return refused, nil
}

// claimed looks at the claim of a letter's own key, and returns why the letter is refused; "" if it
// is not, or later says so.
func (s *step) claimed(c inbox.Claimed, claim inbox.Claim, letter int64, owns map[int64]own, later map[int64]string) string {
	o := owns[letter]
	switch {
	case c.Result == inbox.Won:
		return ""
	case c.Result == inbox.Busy:
		later[letter] = fmt.Sprintf("letter %d waits: its key is being used", letter)
		return ""
	case c.Entry.Fingerprint != claim.Fingerprint:
		return "its own key belongs to another message"
	case c.Entry.State == inbox.Waiting:
		o.ended = "it waits under its own key already"
	case c.Entry.State == inbox.Done:
		o.ended = "it was applied under its own key already"
	case c.Entry.State == inbox.Discarded:
		o.ended = "it was discarded under its own key already"
	default:
		return "there is a letter under its own key"
	}
	owns[letter] = o
	return ""
}
