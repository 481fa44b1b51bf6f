package view

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/inspect"
)

// Step is one of the four from a failure to its end.
type Step struct {
	// Name is what to do. Head says in a few words what is known of it, Text in a sentence.
	Name, Head, Text string
	// Done says that it is done, and Now that it is the next one.
	Done, Now bool
}

// Facts are what the steps of a group are made from.
type Facts struct {
	// Group is the group, Builds those of its consumer, Processes how many run.
	Group     groups.Group
	Builds    []inspect.Build
	Processes int
	// Quiet is how long the consumer had run without a letter of the group before the first one.
	Quiet time.Duration
	// Redrive is the newest of the group, its ID 0 if there is none.
	Redrive job.Redrive
}

// Steps says how far a person is with a group: understand, fix, rehearse, redrive.
func Steps(f Facts) []Step {
	steps := []Step{f.understand(), f.fix(), f.rehearse(), f.redrive()}
	if f.Group.Class == dlq.Conflict && f.Group.Open > 0 {
		copy(steps, conflicts)
	}
	steps[0].Done = steps[1].Done || f.Group.Assignee != ""
	for i := range steps {
		if f.Group.Open > 0 && !steps[i].Done {
			steps[i].Now = true
			break
		}
	}
	return steps
}

// conflicts are the steps with letters that no build can mend.
var conflicts = []Step{
	{Name: "Understand", Head: "One key, two contents", Text: "The message that came first was handled. These came later under its key, and say something else."},
	{Name: "Fix", Head: "The sender, or the key", Text: "If both messages are right, the key lacks what tells them apart."},
	{Name: "Rehearse", Head: "Nothing to rehearse", Text: "Under the same key it is a conflict again."},
}

func (f Facts) understand() Step {
	g := f.Group
	s := Step{Name: "Understand", Head: "Since build " + encode.Short(g.FirstBuild, 24)}
	if g.FirstBuild == "" {
		s.Head = "Since " + minute(g.First)
	}
	s.Text = "The first letter came at " + Dash(minute(g.First)) + "."
	if g.FirstBuild == "" {
		s.Text = "That was the first letter. Its build has no name."
	}
	for _, b := range f.Builds {
		if after := g.First.Sub(b.Started); b.Name != "" && b.Name == g.FirstBuild && !b.Started.IsZero() && after >= 0 {
			s.Text = fmt.Sprintf("The first letter came %s after it started.", Span(after))
		}
	}
	if f.Quiet >= time.Hour {
		s.Text += fmt.Sprintf(" None in the %s before.", Span(f.Quiet))
	}
	return s
}

func (f Facts) fix() Step {
	var running []inspect.Build
	for _, b := range f.Builds {
		if b.Running > 0 {
			running = append(running, b)
		}
	}
	s := Step{Name: "Fix", Head: fmt.Sprintf("%d builds run", len(running)), Text: "Deploy one build on all processes."}
	switch len(running) {
	case 0:
		s.Head, s.Text = "No process runs", "The consumer "+encode.Short(f.Group.Consumer, 40)+" does not run."
	case 1:
		b := running[0]
		s.Head, s.Text = fmt.Sprintf("%s runs on %d of %d", called(b), b.Running, f.Processes), "It has written letters of this group: deploy a fix."
		if b.Fixed() {
			s.Done, s.Text = true, "It has written no letter of this group."
		}
	default:
		for _, b := range running {
			if b.Fixed() {
				s.Head = fmt.Sprintf("%s runs on %d of %d", called(b), b.Running, f.Processes)
				s.Text = "It has written no letter of this group. Wait until it runs on all processes."
			}
		}
	}
	return s
}

func (f Facts) rehearse() Step {
	n := min(20, f.Group.Open)
	if n == 0 {
		return Step{Name: "Rehearse", Head: "No letter is open", Text: "There is nothing to rehearse.", Done: true}
	}
	return Step{
		Name: "Rehearse", Head: fmt.Sprintf("Try %s, keep nothing", Plural(n, "letter", "letters")), Text: "The real handler of the newest build, rolled back.",
		Done: f.Redrive.ID != 0 && !f.Redrive.State.Ended(), // the person has gone on
	}
}

func (f Facts) redrive() Step {
	s := Step{Name: "Redrive", Head: Plural(f.Group.Open, "letter", "letters") + ", 1 → 10 → 100 → all", Text: "It pauses by itself when one fails again."}
	switch {
	case f.Group.Open == 0:
		s.Head, s.Text, s.Done = "No letter is open", "There is nothing to redrive.", true
	case f.Group.Class == dlq.Conflict:
		s.Head, s.Text = "Conflicts cannot be redriven", "Each needs a new key, under which it is applied beside the first: headrace dlq redrive ID --new-key KEY. Or discard them."
	case f.Redrive.ID != 0 && !f.Redrive.State.Ended():
		s.Text = fmt.Sprintf("%s is %s.", job.Name(f.Redrive.ID), f.Redrive.State)
	}
	return s
}

// called is the name of a build, as the beginning of a sentence.
func called(b inspect.Build) string {
	if b.Name == "" {
		return "A build without a name"
	}
	return encode.Short(b.Name, 24)
}

// minute is a time without its seconds, in UTC; "" for zero.
func minute(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}
