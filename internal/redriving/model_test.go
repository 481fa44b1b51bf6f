package redriving_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/redriving"
)

// Whatever jobs and people do to letters while their messages are applied and fail again: the list
// of each job says what became of the messages that it sent, and each message is applied once.
//
//evidence:redrive-job
func TestModel(t *testing.T) {
	onBoth(t, func(b *fixture) {
		run, runs := 0, 40
		if b.kind == "postgres" {
			runs = 10 // a round trip costs more there, and the rules are the same
		}
		rapid.Check(b.T, func(t *rapid.T) {
			if run == runs {
				return
			}
			m := &model{fixture: b, t: t, prefix: fmt.Sprintf("r%d-", run), applied: make(map[string]int), became: make(map[int64]job.Outcome)}
			run++
			t.Repeat(map[string]func(*rapid.T){
				"die": m.dieOne, "plan": m.planSome, "step": m.stepOne, "person": m.byHand, "pause": m.pauseOne,
				"apply": m.applySome, "fail": m.failSome,
			})
			m.settle()
		})
	})
}

type model struct {
	*fixture
	t       *rapid.T
	prefix  string
	keys    int
	letters []int64
	jobs    []int64
	applied map[string]int
	// became says what became of the message of a letter that was sent.
	became map[int64]job.Outcome
}

func (m *model) dieOne(t *rapid.T) {
	key := fmt.Sprintf("%s%d", m.prefix, m.keys)
	m.keys++
	change := func(*dlq.Letter) {}
	if rapid.Bool().Draw(t, "strict") {
		change = strict(m.prefix + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "order key"))
	}
	m.letters = append(m.letters, m.die(letter(key, change))...)
}

// planSome starts a job of the last letters.
func (m *model) planSome(t *rapid.T) {
	if len(m.letters) == 0 {
		t.Skip("no letter yet")
	}
	m.beat()
	p := redriving.Plan{Kind: job.Redriving, Options: job.DefaultOptions()}
	p.Filter.IDs = m.letters[rapid.IntRange(0, len(m.letters)-1).Draw(t, "from"):]
	p.Stages = rapid.SampledFrom([][]int{nil, {1}, {1, 2}}).Draw(t, "stages")
	p.MaxRunning = rapid.IntRange(1, 4).Draw(t, "window")
	r, err := m.engine.Plan(m.ctx, p, "ann")
	if errors.Is(err, instance.ErrRefused) {
		t.Skip("no open letter")
	}
	m.must(err)
	_, err = m.engine.Apply(m.ctx, redriving.Apply{ID: r.ID}, "ann", "fixed")
	if errors.Is(err, instance.ErrRefused) {
		t.Skip("a letter came within the same millisecond")
	}
	m.must(err)
	m.jobs = append(m.jobs, r.ID)
}

func (m *model) job(t *rapid.T) int64 {
	if len(m.jobs) == 0 {
		t.Skip("no job yet")
	}
	return rapid.SampledFrom(m.jobs).Draw(t, "job")
}

func (m *model) stepOne(t *rapid.T) {
	id := m.job(t)
	before := m.get(id)
	d := m.step(id)
	r := m.get(id)
	if r.Stage > len(r.Stages) && d.Action == job.Send && r.UnderWay() > int64(r.Window()) {
		t.Fatalf("%d are under way in a window of %d: %+v", r.UnderWay(), r.Window(), d)
	}
	if r.Stage > before.Stage {
		for letterID, e := range m.outcomes(id) {
			if e.State == job.FailedAgain && !e.At.Before(before.StageAt) {
				t.Fatalf("it goes past stage %d, in which letter %d failed again: %+v", before.Stage, letterID, d)
			}
		}
	}
	if r.UnderWay() > int64(r.MaxRunning) && d.Action == job.Send || d.Action == job.Wait && r.Why == "" || d.Action == job.Pause && r.State != job.Paused {
		t.Fatalf("%+v: %+v", d, r)
	}
}

func (m *model) pauseOne(t *rapid.T) {
	id := m.job(t)
	m.beat()
	var err error
	switch m.get(id).State {
	case job.Running:
		if rapid.IntRange(0, 4).Draw(t, "cancel") == 0 {
			_, err = m.engine.Cancel(m.ctx, id, "bo", "")
		} else {
			_, err = m.engine.Pause(m.ctx, id, "bo", "")
		}
	case job.Paused:
		_, err = m.engine.Resume(m.ctx, redriving.Resume{ID: id})
	}
	m.must(err)
}

// byHand decides on a letter beside the jobs.
func (m *model) byHand(t *rapid.T) {
	if len(m.letters) == 0 {
		t.Skip("no letter yet")
	}
	r := redrive.Request{Filter: dlq.Filter{IDs: []int64{rapid.SampledFrom(m.letters).Draw(t, "letter")}}, By: "cy", Reason: "by hand"}
	do := (*redrive.Admin).Redrive
	if rapid.Bool().Draw(t, "discard") {
		do = (*redrive.Admin).Discard
	}
	if _, err := do(redrive.New(m.st), m.ctx, r); err != nil {
		t.Fatal(err)
	}
}

func (m *model) applySome(*rapid.T) {
	items := m.ready()
	items = items[:min(len(items), 2)]
	m.succeed(items...)
	for _, i := range items {
		m.applied[i.Delivery.Key]++
		m.became[i.LetterID] = job.Succeeded
	}
}

func (m *model) failSome(*rapid.T) {
	items := m.ready()
	items = items[:min(len(items), 1)]
	m.fail(items...)
	for _, i := range items {
		m.became[i.LetterID] = job.FailedAgain
		next, err := m.st.Letters().Next(m.ctx, i.LetterID)
		m.must(err)
		m.letters = append(m.letters, next)
	}
}

// settle lets all jobs end, and compares their lists with what happened.
func (m *model) settle() {
	m.check()
	for range 500 {
		for len(m.ready()) > 0 {
			m.applySome(m.t)
		}
		busy := false
		m.beat()
		for _, id := range m.jobs {
			switch m.get(id).State {
			case job.Running:
				m.step(id)
				busy = true
			case job.Paused:
				_, err := m.engine.Resume(m.ctx, redriving.Resume{ID: id})
				m.must(err)
				busy = true
			}
		}
		if !busy {
			break
		}
	}
	for _, id := range m.jobs {
		r := m.get(id)
		if r.State != job.Done && r.State != job.Cancelled {
			m.t.Fatalf("%+v", r)
		}
		for letterID, e := range m.outcomes(id) {
			switch {
			case e.State == job.Queued && r.State == job.Done, e.State == job.Sent && r.State == job.Done:
				m.t.Fatalf("%s is done, and letter %d is %s", job.Name(id), letterID, e.State)
			case (e.State == job.Succeeded || e.State == job.FailedAgain) && e.State != m.became[letterID]:
				m.t.Fatalf("letter %d of %s is %s, and became %s", letterID, job.Name(id), e.State, m.became[letterID])
			case e.State == job.Unknown:
				m.t.Fatalf("letter %d of %s: %+v", letterID, job.Name(id), e)
			}
		}
	}
	for key, times := range m.applied {
		if state := m.inboxState(key); times != 1 || state != inbox.Done {
			m.t.Fatalf("%s is %s and was applied %d times", key, state, times)
		}
	}
	m.check()
	for len(m.ready()) > 0 {
		m.applySome(m.t)
	}
}
