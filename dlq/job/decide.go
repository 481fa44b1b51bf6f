package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxStep bounds the letters that one transaction sends.
const MaxStep = 500

// Action is what a job does next.
type Action string

// The actions of a job.
const (
	Send   Action = "send"
	Wait   Action = "wait"
	Pause  Action = "pause"
	Finish Action = "finish"
)

// Decision is what a job does next.
type Decision struct {
	// Action is what it does.
	Action Action
	// N is how many letters it sends; 0 unless the action is Send.
	N int
	// Stage is the stage that it is in then.
	Stage int
	// Why says, for a person, why it waits or pauses.
	Why string
}

// Counts are the letters of a job under way, as the tables say now.
type Counts struct {
	// Running, Retrying and Postponed have no final outcome. Aside are those of Postponed that
	// were sent longer ago than StageTimeout: they are not in the window.
	Running, Retrying, Postponed, Aside int
	// Stage counts those that were sent in this stage, and StageRetrying those of them that retry.
	Stage, StageRetrying int
	// Crashed are letters under way whose process ended each time that they ran.
	Crashed int
	// Oldest is when the first of them was sent; zero without one.
	Oldest time.Time
	// Slow says which letter of the stage has retried or been postponed for StageTimeout; "" for
	// none. Due says which one runs again when; "" for none. Failed says how the last letter
	// failed again; "" if none has.
	Slow, Due, Failed string

	// Ready is how many of the queued letters may be sent now, at most MaxStep: of an order key
	// one letter is under way at a time. ReadyCrashed says that the first one is of class crashed.
	Ready        int
	ReadyCrashed bool
	// Behind says what the queued letters wait for where none is ready.
	Behind string
}

// underWay is the number of letters in the window.
func (c *Counts) underWay() int { return c.Running + c.Retrying + c.Postponed - c.Aside }

// World is what a job knows of its consumer.
type World struct {
	// Processes are those that run, and those that ended unexpectedly.
	Processes []Process
	// Paused says who has paused the consumer, and why; "" while it is not paused.
	Paused string
}

// Builds returns the builds that run, sorted, each once.
func (w *World) Builds() []string {
	builds := []string{}
	for _, p := range w.Processes {
		if !p.Died {
			builds = append(builds, p.Build)
		}
	}
	slices.Sort(builds)
	return slices.Compact(builds)
}

// Decide says what a running job does at now. It changes nothing.
func Decide(r *Redrive, c Counts, w World, now time.Time) Decision {
	d := Decision{Stage: r.Stage}
	queued := r.Queued()
	switch {
	case queued <= 0 && r.UnderWay() <= 0:
		return d.do(Finish, "")
	case queued <= 0:
		why := "all letters are sent: " + c.wait(r)
		if ended := died(r, &c, &w); ended != "" {
			why += "; " + ended
		}
		return d.do(Wait, why)
	case r.Kind == Discarding:
		d.N = int(min(queued, MaxStep))
		return d.do(Send, "")
	}
	if why := pauses(r, &c, &w, now); why != "" {
		return d.do(Pause, why)
	}
	if w.Paused != "" {
		return d.do(Wait, w.Paused)
	}
	next := *r
	if n, limited := r.limit(); limited && r.StageSent >= n && c.Stage == 0 {
		next.Begin(r.Stage+1, now)
	}
	d.Stage = next.Stage
	room := next.Window() - c.underWay()
	if n, limited := next.limit(); limited {
		// Letters from before the stage was begun again are in the window, and not in the stage.
		room = min(n-next.StageSent, r.MaxRunning-c.underWay())
	}
	return send(r, &c, d, room, now)
}

// send decides how many letters fit into room.
func send(r *Redrive, c *Counts, d Decision, room int, now time.Time) Decision {
	switch {
	case room <= 0:
		return d.do(Wait, c.wait(r))
	case c.Crashed > 0:
		return d.do(Wait, "a letter whose process ended runs alone: "+c.wait(r))
	case c.Ready == 0:
		return d.do(Wait, cmp.Or(c.Behind, fmt.Sprintf("%d letters wait", r.Queued())))
	case c.ReadyCrashed && c.underWay() > 0:
		return d.do(Wait, "the next letter's process ended each time, so it is sent alone: "+c.wait(r))
	case c.ReadyCrashed:
		room = 1
	}
	tokens := r.tokens(now)
	if tokens < 1 {
		return d.do(Wait, fmt.Sprintf("it sends at most %v letters a second", r.Rate))
	}
	d.N = min(room, tokens, c.Ready, MaxStep)
	return d.do(Send, "")
}

// pauses says why the job pauses; "" if it does not.
func pauses(r *Redrive, c *Counts, w *World, now time.Time) string {
	if silent := now.Sub(r.Stepped); !r.Stepped.IsZero() && silent > Silence {
		return fmt.Sprintf("no process of %s has worked on it for %s", r.Consumer, silent.Round(time.Second))
	}
	if builds := w.Builds(); !slices.Equal(builds, r.Builds) {
		return fmt.Sprintf("%s runs %s now, and it was applied for %s", r.Consumer, NameBuilds(builds), NameBuilds(r.Builds))
	}
	if ended := died(r, c, w); ended != "" {
		return ended
	}
	if _, limited := r.limit(); limited {
		switch {
		case r.share("f") > 0:
			return cmp.Or(c.Failed, "a letter failed again")
		case c.Slow != "":
			return c.Slow
		}
	} else if bad := r.share("f") + c.StageRetrying; float64(bad) > r.PauseAt {
		return fmt.Sprintf("%d of the last letters failed again or retry, more than %v %%; %s", bad, r.PauseAt, c.Failed)
	}
	if skipped := r.share("k"); skipped > maxRecent/10 {
		return fmt.Sprintf("%d of the last %d letters were skipped", skipped, len(r.Recent))
	}
	return ""
}

// deathSeen is how long after its last sign of life a process may have ended. After that it counts as
// ended, and a person who resumes the job knows it.
const deathSeen = 12 * time.Second

// died says which process ended unexpectedly with letters of the job under way; "" if none did.
func died(r *Redrive, c *Counts, w *World) string {
	for _, p := range w.Processes {
		end := p.Beat.Add(deathSeen) // at the latest: the letter that a job begins with may end a process before its next beat
		if p.Died && end.After(r.Resumed) && !c.Oldest.IsZero() && c.Oldest.Before(end) {
			return fmt.Sprintf("a process of %s on %s ended unexpectedly with %d under way: one of the letters may have ended it", r.Consumer, p.Host, c.underWay())
		}
	}
	return ""
}

// wait says what the letters under way wait for.
func (c *Counts) wait(r *Redrive) string {
	var parts []string
	for _, p := range []struct {
		n    int
		says string
	}{{c.Running, "running or waiting"}, {c.Retrying, "retrying"}, {c.Postponed, "postponed"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.says))
		}
	}
	text := strings.Join(parts, ", ")
	if text == "" {
		text = fmt.Sprintf("%d under way", r.UnderWay())
	}
	if c.Due != "" {
		text += "; " + c.Due
	}
	return text
}

func (d Decision) do(a Action, why string) Decision {
	d.Action, d.Why = a, why
	return d
}

// NameBuilds names builds in a sentence.
func NameBuilds(builds []string) string {
	if len(builds) == 0 {
		return "no build"
	}
	names := make([]string, len(builds))
	for i, b := range builds {
		if names[i] = b; b == "" {
			names[i] = "a build without a name"
		}
	}
	return strings.Join(names, " and ")
}
