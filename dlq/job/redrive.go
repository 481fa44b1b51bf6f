package job

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says what a job does to its letters.
type Kind string

// The kinds of jobs.
const (
	Redriving  Kind = "redrive"
	Discarding Kind = "discard"
)

// State is the life of a job.
type State string

// The states of a job.
const (
	Preparing State = "preparing" // its list is being written
	Planned   State = "planned"   // it waits for a person to apply it
	Running   State = "running"
	Paused    State = "paused" // by a person or by itself; it goes on when a person resumes it
	Done      State = "done"
	Cancelled State = "cancelled" // letters that were not sent stay open
)

// Ended reports whether a job in this state does nothing any more.
func (s State) Ended() bool { return s == Done || s == Cancelled }

// ErrNotFound matches the error for a redrive that does not exist.
var ErrNotFound = errors.New("no such redrive")

// Valid is how long a plan may be applied that says nothing else.
const Valid = time.Hour

// Silence is how long no process may work on a running job before it pauses: it never goes on by
// itself the next morning.
const Silence = 10 * time.Minute

// Bounds of Options.
const (
	MostRunning = 10_000
	MostRate    = 1_000_000
)

// Options say how fast a job goes, and when it pauses. They are part of the plan.
type Options struct {
	// Stages are how many letters each stage but the last has; none is one stage only.
	Stages []int
	// MaxRunning bounds how many letters are under way.
	MaxRunning int
	// Rate bounds the letters sent a second; 0 is unbounded.
	Rate float64
	// PauseAt is a percentage: the job pauses when more of the last 100 outcomes of the last
	// stage failed again, or retry.
	PauseAt float64
	// StageTimeout is how long a letter may retry or be postponed before a stage other than the
	// last counts it as failed.
	StageTimeout time.Duration
}

// DefaultOptions returns the options of a redrive that says nothing else.
func DefaultOptions() Options {
	return Options{Stages: []int{1, 10, 100}, MaxRunning: 1000, PauseAt: 5, StageTimeout: 30 * time.Second}
}

// Check returns an error for options that no job can have.
func (o Options) Check() error {
	for _, n := range o.Stages {
		if n < 1 {
			return fmt.Errorf("a stage of %d letters", n)
		}
	}
	switch {
	case o.MaxRunning < 1 || o.MaxRunning > MostRunning:
		return fmt.Errorf("%d letters under way are not between 1 and 10000", o.MaxRunning)
	case !(o.Rate >= 0 && o.Rate <= MostRate):
		return fmt.Errorf("a rate of %v is not between 0 and a million", o.Rate)
	case !(o.PauseAt >= 0 && o.PauseAt <= 100):
		return fmt.Errorf("%v %% is not between 0 and 100", o.PauseAt)
	case o.StageTimeout <= 0:
		return fmt.Errorf("a time of %s for a stage", o.StageTimeout)
	}
	return nil
}

// Redrive is a plan or a job, and its row. Times are by the database's clock.
type Redrive struct {
	// ID names it: R-42.
	ID int64
	// Kind is what it does to its letters, and State how far it is.
	Kind  Kind
	State State
	// Why says, for a person, why it is paused or cancelled, or sends nothing at present.
	Why string
	// Consumer is that of all its letters, and Filter says how they were chosen.
	Consumer, Filter string
	// Handler and ErrorFingerprint are those of the filter; "" if it chooses any.
	Handler, ErrorFingerprint string
	// Builds are those of the consumer's processes that ran when it was planned, or that the one
	// who applied it has accepted: sorted, each once.
	Builds []string
	Options
	Progress
	// Count is the number of letters of its list, and Survey what they were when they were listed.
	Count  int64
	Survey []Survey
	// PlannedBy and AppliedBy are people, and Reason why it was applied.
	PlannedBy, AppliedBy, Reason string
	// OpenCalls says that a discard also ends letters with a call whose outcome is unknown.
	OpenCalls bool
	// Planned is when it was planned, and Expires until when it may be applied.
	Planned, Expires time.Time
	// Applied, Resumed and Ended are zero before that. Resumed is also set when it is applied.
	Applied, Resumed, Ended time.Time
	// Stepped is when a process worked on it last.
	Stepped time.Time
	// Now is when it was read.
	Now time.Time
}

// Progress is how far a job has come.
type Progress struct {
	// Stage counts from 1. StageAt is when it began, or the job was resumed in it; StageSent
	// counts the letters sent since, and StageGood those of them that succeeded.
	Stage                int
	StageAt              time.Time
	StageSent, StageGood int
	// Recent has a character for each of the last 100 outcomes of the stage, oldest first: s, f
	// and k for succeeded, failed again and skipped.
	Recent string
	// Sent counts the letters that were sent, and those below what became of them. Skipped were
	// not sent.
	Sent, Succeeded, FailedAgain, Unknown, Skipped int64
	// TokensAt is until when the rate is used up.
	TokensAt time.Time
}

// Name is how people name a redrive.
func Name(id int64) string { return fmt.Sprintf("R-%d", id) }

// Queued is the number of letters that were neither sent nor skipped.
func (r *Redrive) Queued() int64 { return r.Count - r.Sent - r.Skipped }

// UnderWay is the number of letters that were sent, and have no outcome yet.
func (r *Redrive) UnderWay() int64 { return r.Sent - r.Succeeded - r.FailedAgain - r.Unknown }

// limit returns how many letters the stage has; false for the last stage, which has the rest.
func (r *Redrive) limit() (int, bool) {
	if r.Stage < 1 || r.Stage > len(r.Stages) {
		return 0, false
	}
	return r.Stages[r.Stage-1], true
}

// Window is how many letters may be under way in this stage: in the last one 100 at first, and
// twice as many after each 100 that succeeded, up to MaxRunning.
func (r *Redrive) Window() int {
	n, limited := r.limit()
	if !limited {
		n = firstWindow << min(r.StageGood/firstWindow, 10)
	}
	return min(n, r.MaxRunning)
}

// firstWindow is the window of the last stage when it begins.
const firstWindow = 100

// Begin begins a stage at a time, or begins it again.
func (p *Progress) Begin(stage int, now time.Time) {
	p.Stage, p.StageAt, p.StageSent, p.StageGood, p.Recent = stage, now, 0, 0, ""
}

// maxRecent is how many outcomes Recent has.
const maxRecent = 100

// Tally adds outcomes of entries, final ones or Skipped. Those of letters that were sent before
// the stage began count for the job, and not for the stage.
func (p *Progress) Tally(entries []Entry) {
	for _, e := range entries {
		sign := ""
		switch e.State {
		case Succeeded:
			p.Succeeded, sign = p.Succeeded+1, "s"
		case FailedAgain:
			p.FailedAgain, sign = p.FailedAgain+1, "f"
		case Unknown:
			p.Unknown++
		case Skipped:
			p.Skipped, sign = p.Skipped+1, "k"
		}
		if sign == "" || e.State != Skipped && e.At.Before(p.StageAt) {
			continue
		}
		if e.State == Succeeded {
			p.StageGood++
		}
		p.Recent += sign
		p.Recent = p.Recent[max(len(p.Recent)-maxRecent, 0):]
	}
}

// Spend counts n letters as sent at now.
func (r *Redrive) Spend(n int, now time.Time) {
	r.Sent += int64(n)
	r.StageSent += n
	if r.Rate > 0 {
		if full := now.Add(-time.Second); r.TokensAt.Before(full) {
			r.TokensAt = full
		}
		r.TokensAt = r.TokensAt.Add(time.Duration(float64(n) / r.Rate * float64(time.Second)))
	}
}

// tokens returns how many letters the rate allows now: at most those of a second.
func (r *Redrive) tokens(now time.Time) int {
	if r.Rate <= 0 {
		return MaxStep
	}
	since := min(now.Sub(r.TokensAt), max(time.Second, time.Duration(float64(time.Second)/r.Rate)))
	return int(since.Seconds() * r.Rate)
}

// share returns how many of the last 100 outcomes have this sign.
func (p *Progress) share(sign string) int { return strings.Count(p.Recent, sign) }

// Chooses reports whether the filter names this group of dead letters, or the same cause in each handler.
func (r *Redrive) Chooses(consumer, handler, fingerprint string) bool {
	return r.ErrorFingerprint != "" && r.ErrorFingerprint == fingerprint && r.Consumer == consumer && (r.Handler == "" || r.Handler == handler)
}
