package job_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/dlq/job"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// situation is what Decide looks at.
type situation struct {
	job.Redrive
	job.Counts
	job.World
}

// running is a job of 1000 letters in its first stage, on one process, with nothing under way.
func running() *situation {
	r := job.Redrive{
		ID: 42, Kind: job.Redriving, State: job.Running, Consumer: "billing", Builds: []string{"v1"}, Options: job.DefaultOptions(), Count: 1000,
		Resumed: now.Add(-time.Minute), Stepped: now.Add(-time.Second),
	}
	r.Begin(1, now.Add(-time.Minute))
	return &situation{r, job.Counts{Ready: job.MaxStep}, job.World{Processes: []job.Process{{Host: "a", Build: "v1", Beat: now}}}}
}

// underWay has n letters of the stage under way.
func (s *situation) underWay(n int) {
	s.Sent, s.StageSent = s.Sent+int64(n), s.StageSent+n
	s.Running, s.Counts.Stage, s.Oldest = s.Running+n, s.Counts.Stage+n, now.Add(-10*time.Second)
}

// ended has n letters of the stage with outcomes.
func (s *situation) ended(n int, o job.Outcome) {
	s.Sent, s.StageSent = s.Sent+int64(n), s.StageSent+n
	for range n {
		s.Tally([]job.Entry{{State: o, At: now}})
	}
}

//evidence:redrive-job
func TestDecide(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(s *situation)
		action job.Action
		n      int
		stage  int
		why    string
	}{
		"the first letter":        {func(*situation) {}, job.Send, 1, 1, ""},
		"while it is under way":   {func(s *situation) { s.underWay(1) }, job.Wait, 0, 1, "1 running or waiting"},
		"when it has succeeded":   {func(s *situation) { s.ended(1, job.Succeeded) }, job.Send, 10, 2, ""},
		"when it has failed":      {func(s *situation) { s.ended(1, job.FailedAgain); s.Failed = "letter 1 failed again" }, job.Pause, 0, 1, "letter 1 failed again"},
		"when it was skipped":     {func(s *situation) { s.Tally([]job.Entry{{State: job.Skipped}}) }, job.Send, 1, 1, ""},
		"a slow letter":           {func(s *situation) { s.underWay(1); s.Slow = "letter 1 retries" }, job.Pause, 0, 1, "letter 1 retries"},
		"a part of a stage":       {func(s *situation) { s.Begin(2, now); s.ended(3, job.Succeeded); s.underWay(4) }, job.Send, 3, 2, ""},
		"the end of a stage":      {func(s *situation) { s.Begin(2, now); s.ended(6, job.Succeeded); s.underWay(4) }, job.Wait, 0, 2, "4 running"},
		"the rest":                {func(s *situation) { s.Begin(3, now); s.ended(100, job.Succeeded) }, job.Send, 100, 4, ""},
		"the window":              {func(s *situation) { s.Begin(4, now); s.underWay(100) }, job.Wait, 0, 4, "100 running"},
		"the window has grown":    {func(s *situation) { s.Begin(4, now); s.ended(210, job.Succeeded); s.underWay(100) }, job.Send, 300, 4, ""},
		"postponed letters":       {func(s *situation) { s.Begin(4, now); s.underWay(100); s.Running, s.Postponed, s.Aside = 70, 30, 30 }, job.Send, 30, 4, ""},
		"six of 100 failed":       {func(s *situation) { s.Begin(4, now); s.ended(6, job.FailedAgain); s.ended(94, job.Succeeded) }, job.Pause, 0, 4, "6 of the last"},
		"five of 100 failed":      {func(s *situation) { s.Begin(4, now); s.ended(5, job.FailedAgain); s.ended(95, job.Succeeded) }, job.Send, 100, 4, ""},
		"long ago":                {func(s *situation) { s.Begin(4, now); s.ended(9, job.FailedAgain); s.ended(100, job.Succeeded) }, job.Send, 200, 4, ""},
		"retrying":                {func(s *situation) { s.Begin(4, now); s.underWay(6); s.Running, s.Retrying, s.StageRetrying = 0, 6, 6 }, job.Pause, 0, 4, "retry"},
		"eleven of 100 skipped":   {func(s *situation) { s.Begin(4, now); skip(s, 11) }, job.Pause, 0, 4, "were skipped"},
		"another build":           {func(s *situation) { s.Processes[0].Build = "v0" }, job.Pause, 0, 1, "billing runs v0 now"},
		"two builds":              {func(s *situation) { s.Processes = append(s.Processes, job.Process{}) }, job.Pause, 0, 1, "a build without a name and v1"},
		"a process ended":         {func(s *situation) { s.underWay(1); died(s, -5*time.Second) }, job.Pause, 0, 1, "ended unexpectedly"},
		"a process ended at once": {diedAtOnce, job.Pause, 0, 1, "ended unexpectedly with 1 under way"},
		"a process ended at last": {func(s *situation) { s.Count = 1; s.underWay(1); died(s, -5*time.Second) }, job.Wait, 0, 1, "all letters are sent: 1 running or waiting; a process of billing on b ended unexpectedly"},
		"nothing was under way":   {func(s *situation) { died(s, -5*time.Second) }, job.Send, 1, 1, ""},
		"a process ended before":  {func(s *situation) { s.underWay(1); died(s, -2*time.Minute) }, job.Wait, 0, 1, "1 running"},
		"no process worked on it": {func(s *situation) { s.Stepped = now.Add(-11 * time.Minute) }, job.Pause, 0, 1, "no process of billing"},
		"the consumer is paused":  {func(s *situation) { s.Paused = "billing is paused by bo" }, job.Wait, 0, 1, "billing is paused by bo"},
		"an order key":            {func(s *situation) { s.Ready, s.Behind = 0, "4 letters wait behind the order key of letter 3" }, job.Wait, 0, 1, "4 letters wait behind the order key of letter 3"},
		"nothing is ready":        {func(s *situation) { s.Ready = 0 }, job.Wait, 0, 1, "1000 letters wait"},
		"a crashed letter":        {func(s *situation) { s.Begin(4, now); s.ReadyCrashed = true }, job.Send, 1, 4, ""},
		"not beside others":       {func(s *situation) { s.Begin(4, now); s.ReadyCrashed = true; s.underWay(2) }, job.Wait, 0, 4, "sent alone: 2 running"},
		"nothing beside it":       {func(s *situation) { s.Begin(4, now); s.underWay(1); s.Crashed = 1 }, job.Wait, 0, 4, "runs alone: 1 running"},
		"a rate":                  {func(s *situation) { s.Begin(4, now); s.Rate, s.TokensAt = 50, now.Add(-100*time.Millisecond) }, job.Send, 5, 4, ""},
		"a rate that is used up":  {func(s *situation) { s.Rate, s.TokensAt = 50, now }, job.Wait, 0, 1, "at most 50 letters a second"},
		"a slow rate":             {func(s *situation) { s.Rate, s.TokensAt = 0.5, now.Add(-2*time.Second) }, job.Send, 1, 1, ""},
		"all are sent":            {func(s *situation) { s.Count = 1; s.underWay(1); s.Due = "letter 1 retries until 02:40" }, job.Wait, 0, 1, "all letters are sent: 1 running or waiting; letter 1 retries until 02:40"},
		"all have an outcome":     {func(s *situation) { s.Count = 1; s.ended(1, job.FailedAgain) }, job.Finish, 0, 1, ""},
		"no stages":               {func(s *situation) { s.Stages = nil }, job.Send, 100, 1, ""},
		"few at a time":           {func(s *situation) { s.Begin(2, now); s.MaxRunning = 3; s.underWay(1) }, job.Send, 2, 2, ""},
		"letters of before":       {func(s *situation) { s.Sent, s.Retrying, s.Oldest = 4, 4, now.Add(-time.Hour) }, job.Send, 1, 1, ""},
		"a discard":               {func(s *situation) { s.Kind, s.Processes = job.Discarding, nil }, job.Send, job.MaxStep, 1, ""},
		"the end of a discard":    {func(s *situation) { s.Kind, s.Count = job.Discarding, 3; s.ended(3, job.Succeeded) }, job.Finish, 0, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := running()
			tt.change(s)
			d := job.Decide(&s.Redrive, s.Counts, s.World, now)
			if d.Action != tt.action || d.N != tt.n || d.Stage != tt.stage || !strings.Contains(d.Why, tt.why) || (d.Why == "") != (tt.why == "") {
				t.Errorf("%+v", d)
			}
		})
	}
}

func skip(s *situation, n int) {
	for range n {
		s.Tally([]job.Entry{{State: job.Skipped}})
	}
}

// died has a process whose last beat was so long ago.
func died(s *situation, ago time.Duration) {
	s.Processes = append(s.Processes, job.Process{Host: "b", Build: "v0", Beat: now.Add(ago), Died: true})
}

// diedAtOnce has a process that ended with the first letter, before it has beaten again.
func diedAtOnce(s *situation) {
	s.Resumed = now.Add(-13 * time.Second)
	s.underWay(1)
	died(s, -15*time.Second)
}

// Whatever happens to its letters, a job never has more of them under way than the window, never
// passes a stage in which one failed, and never sends nothing without a reason.
//
//evidence:redrive-job
func TestDecideAtRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := running()
		s.Count = rapid.SampledFrom([]int64{1, 5, 100, 1000, 5000}).Draw(t, "count")
		s.MaxRunning = rapid.SampledFrom([]int{1, 7, 50, 300, 1000}).Draw(t, "max running")
		s.Begin(rapid.IntRange(1, 4).Draw(t, "stage"), now)
		clock, failed := now, false
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			clock = clock.Add(time.Second)
			s.Stepped = clock.Add(-time.Second)
			s.Counts.Ready = int(min(s.Queued(), rapid.SampledFrom([]int64{0, 1, 20, job.MaxStep}).Draw(t, "ready")))
			s.ReadyCrashed = s.Counts.Ready > 0 && rapid.IntRange(0, 9).Draw(t, "crashed") == 0
			if s.Paused = ""; rapid.IntRange(0, 9).Draw(t, "paused") == 0 {
				s.Paused = "paused"
			}
			d := job.Decide(&s.Redrive, s.Counts, s.World, clock)
			switch {
			case d.Action != job.Send && d.N != 0, d.Action == job.Send && (d.N < 1 || d.N > s.Counts.Ready || d.Why != ""):
				t.Fatalf("%+v", d)
			case (d.Action == job.Wait || d.Action == job.Pause) && strings.TrimSpace(d.Why) == "":
				t.Fatalf("it is silent: %+v", d)
			case failed && d.Stage != s.Redrive.Stage:
				t.Fatalf("it goes past stage %d, in which a letter failed: %+v", s.Redrive.Stage, d)
			case d.Action == job.Finish && (s.Queued() > 0 || s.UnderWay() > 0):
				t.Fatalf("it ends with letters left: %+v", s.Redrive)
			case d.Action == job.Finish:
				return
			}
			if d.Stage != s.Redrive.Stage {
				s.Begin(d.Stage, clock)
			}
			if d.Action == job.Pause {
				s.Begin(d.Stage, clock) // a person resumes it
				s.Counts.Stage, failed = 0, false
				continue
			}
			s.Running, s.Counts.Stage = s.Running+d.N, s.Counts.Stage+d.N
			s.Spend(d.N, clock)
			if s.Running > s.Window() && d.N > 0 && s.Redrive.Stage > len(s.Stages) || s.Running > s.MaxRunning || s.Running > 1 && d.N > 0 && s.ReadyCrashed {
				t.Fatalf("%d letters are under way with a window of %d: %+v", s.Running, s.Window(), d)
			}
			failed = end(t, s, clock) || failed
		}
	})
}

// end gives some of the letters under way an outcome, and reports whether one failed in a stage
// that allows none.
func end(t *rapid.T, s *situation, clock time.Time) (failed bool) {
	for range rapid.IntRange(0, s.Running).Draw(t, "ended") {
		e := job.Entry{State: job.Succeeded, At: clock}
		if rapid.IntRange(0, 39).Draw(t, "fails") == 0 {
			e.State = job.FailedAgain
		}
		inStage := s.Counts.Stage > 0
		if s.Running--; inStage {
			s.Counts.Stage--
		} else {
			e.At = time.Time{}
		}
		failed = failed || inStage && e.State == job.FailedAgain && s.Redrive.Stage <= len(s.Stages)
		s.Tally([]job.Entry{e})
	}
	return failed
}

// Another person may have redriven the next letter already, which then is not this one's success.
//
//evidence:redrive-job
func TestOutcome(t *testing.T) {
	for name, tt := range map[string]struct {
		look job.Look
		want job.Outcome
	}{
		"runs":                        {job.Look{Inbox: "waiting", Attempt: 1}, job.InBacklog},
		"retries":                     {job.Look{Inbox: "waiting", Attempt: 2}, job.Retrying},
		"postponed after an attempt":  {job.Look{Inbox: "waiting", Attempt: 2, PostponedAt: now}, job.Retrying},
		"postponed":                   {job.Look{Inbox: "waiting", Attempt: 1, PostponedAt: now}, job.Postponed},
		"done":                        {job.Look{Inbox: "done"}, job.Succeeded},
		"failed again":                {job.Look{Inbox: "dead", NextID: 2}, job.FailedAgain},
		"redriven by another person":  {job.Look{Inbox: "done", NextID: 2}, job.FailedAgain},
		"runs for another person":     {job.Look{Inbox: "waiting", Attempt: 1, NextID: 2}, job.FailedAgain},
		"discarded by another person": {job.Look{Inbox: "discarded", NextID: 2}, job.FailedAgain},
		"removed":                     {job.Look{}, job.Unknown},
		"dead without a letter":       {job.Look{Inbox: "dead"}, job.Unknown},
	} {
		if got := tt.look.Outcome(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
