package redriving

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/store/txn"
)

// Taken is a step that was taken.
type Taken struct {
	job.Decision
	// Changed is how many letters were sent, or have an outcome that they had not before: Ended of
	// those that were under way, of which UnderWay go on.
	Changed, Ended, UnderWay int
}

// Step takes a step of a running job, or looks whether a paused one is over, in one transaction. The
// Action is "" if the job does not run, or another process is taking a step of it. After an error the job is as it was, or the step was
// taken and its COMMIT had no answer: the next step goes on with what is there.
func (e *Engine) Step(ctx context.Context, id int64) (Taken, error) {
	w, err := e.world(ctx)
	if err != nil || !w.self {
		return Taken{}, err
	}
	t, err := e.Store.Begin(ctx)
	if err != nil {
		return Taken{}, err
	}
	defer t.Rollback()
	r, found, err := e.jobs().Lock(ctx, t, id, false, limits)
	paused := r.State == job.Paused
	if err != nil || !found || r.State != job.Running && !paused || r.Consumer != e.Consumer {
		return Taken{}, err
	}
	before := r.Progress
	s := &step{Engine: e, t: t, r: &r, w: w}
	run := s.run
	if paused {
		run = s.rest
	}
	d, err := run(ctx)
	if err != nil && (ctx.Err() != nil || txn.Classify(err) == txn.Connection) {
		t.Discard() // a rollback could hang like the statement
	}
	if err == nil {
		err = e.Store.Commit(ctx, t, nil)
	}
	if err != nil {
		return Taken{}, fmt.Errorf("step of %s: %w", job.Name(id), err)
	}
	e.count(before, r.Progress)
	if s.put {
		e.Store.Backlog().Signals.Wake(e.Consumer)
	}
	return Taken{d, len(s.entries), s.ended, s.looked - s.ended}, nil
}

// count counts the letters that have an outcome since before.
func (e *Engine) count(before, now job.Progress) {
	for outcome, n := range map[job.Outcome]int64{
		job.Succeeded: now.Succeeded - before.Succeeded, job.FailedAgain: now.FailedAgain - before.FailedAgain,
		job.Unknown: now.Unknown - before.Unknown, job.Skipped: now.Skipped - before.Skipped,
	} {
		if n > 0 {
			e.Upkeep.Redriven(string(outcome), n)
		}
	}
}

// step is a step of a job while it is taken.
type step struct {
	*Engine
	t *txn.Txn
	r *job.Redrive
	w world

	counts     job.Counts
	candidates []job.Candidate
	entries    []job.Entry // that have changed
	later      string      // why a letter could not be sent, although it will be
	put        bool        // into the backlog

	looked, ended int // letters under way, and those of them that have an outcome
}

func (s *step) run(ctx context.Context) (d job.Decision, err error) {
	if err := s.settle(ctx); err != nil {
		return d, err
	}
	s.counts.Ready = job.MaxStep // to see whether there is room
	d = job.Decide(s.r, s.counts, s.w.World, s.r.Now)
	if d.Action == job.Send {
		if err := s.next(ctx, d.N); err != nil {
			return d, err
		}
		d = job.Decide(s.r, s.counts, s.w.World, s.r.Now)
	}
	if d.Action == job.Send || d.Action == job.Wait {
		if d.Stage != s.r.Stage {
			s.r.Begin(d.Stage, s.r.Now)
		}
	}
	switch s.r.Why = d.Why; d.Action {
	case job.Send:
		if err := s.send(ctx, d.N); err != nil {
			return d, err
		}
		s.r.Why = s.later
	case job.Pause:
		s.r.State = job.Paused
	case job.Finish:
		s.r.State, s.r.Ended = job.Done, s.r.Now
	}
	s.r.Stepped = s.r.Now
	if err := s.jobs().Settle(ctx, s.t, s.r.ID, s.entries); err != nil {
		return d, err
	}
	return d, s.jobs().Change(ctx, s.t, *s.r)
}

// settle reads what became of the letters that were sent.
func (s *step) settle(ctx context.Context) error {
	looks, err := s.jobs().Looks(ctx, s.t, s.r.ID)
	if err != nil {
		return err
	}
	var behind []job.Entry // failed, of strict order keys
	for i := range looks {
		l := &looks[i]
		e := l.Entry
		switch e.State = l.Outcome(); e.State {
		case job.InBacklog, job.Retrying, job.Postponed:
			s.underWay(l, e.State)
			continue
		case job.FailedAgain:
			e.Next = l.NextID
			s.counts.Failed = fmt.Sprintf("letter %d failed again as letter %d", e.LetterID, e.Next)
			if e.OrderKey != "" {
				b := e
				b.Why = fmt.Sprintf("letter %d of its order key failed again before it", e.LetterID)
				behind = append(behind, b)
			}
		}
		s.entries = append(s.entries, e)
	}
	s.looked, s.ended = len(looks), len(s.entries)
	s.r.Tally(s.entries)
	if len(behind) == 0 {
		return nil
	}
	skipped, err := s.jobs().SkipBehind(ctx, s.t, s.r.ID, behind)
	s.r.Skipped += skipped
	return err
}

// underWay counts a letter without a final outcome.
func (s *step) underWay(l *job.Look, o job.Outcome) {
	c := &s.counts
	late := s.r.Now.Sub(l.At) > s.r.StageTimeout
	inStage := !l.At.Before(s.r.StageAt)
	says := ""
	switch o {
	case job.InBacklog:
		c.Running++
	case job.Retrying:
		c.Retrying++
		says = "retries"
		if inStage {
			c.StageRetrying++
		}
	case job.Postponed:
		c.Postponed++
		says = "runs again"
		if late {
			c.Aside++
		}
	}
	if inStage {
		c.Stage++
	}
	if l.Class == dlq.Crashed {
		c.Crashed++
	}
	if c.Oldest.IsZero() {
		c.Oldest = l.At
	}
	if says == "" {
		return
	}
	says = fmt.Sprintf("letter %d %s", l.LetterID, says)
	if !l.Due.IsZero() {
		says += " at " + clock(l.Due)
	}
	if c.Due == "" {
		c.Due = says
	}
	if late && inStage && c.Slow == "" {
		c.Slow = says
	}
}

// next reads the letters that may be sent next, at most n.
func (s *step) next(ctx context.Context, n int) (err error) {
	s.counts.Ready = 0
	if s.candidates, err = s.jobs().Next(ctx, s.t, s.r.ID, n); err != nil {
		return err
	}
	bytes := int64(0)
	for i, c := range s.candidates {
		if bytes += c.Bytes; i > 0 && (bytes > sendBytes || c.Class == dlq.Crashed) && s.r.Kind == job.Redriving {
			s.candidates = s.candidates[:i]
			break
		}
	}
	s.counts.Ready = len(s.candidates)
	s.counts.ReadyCrashed = len(s.candidates) > 0 && s.candidates[0].Class == dlq.Crashed
	if len(s.candidates) == 0 {
		first, behind, err := s.jobs().Waits(ctx, s.t, s.r.ID)
		if err != nil {
			return err
		}
		if behind > 0 {
			s.counts.Behind = fmt.Sprintf("%d letters wait behind the order key of letter %d", behind, first.LetterID)
		}
	}
	return nil
}
