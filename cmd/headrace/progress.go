package main

import (
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows on stderr how far a long command is: a bar on a terminal, otherwise a
// line from time to time, for programs as JSON. A command that ends before the first line is due
// prints none.
type progress struct {
	m     *Main
	verb  string
	total int64
	bars  *mpb.Progress
	bar   *mpb.Bar
	last  time.Time
	// note says more than the number done. The bar reads it in a goroutine of its own.
	note atomic.Pointer[string]
}

func (m *Main) progress(verb string, total int64) *progress {
	p := &progress{m: m, verb: verb, total: total, last: time.Now()}
	p.note.Store(new(string))
	if m.Terminal(m.Stderr) && total > 0 && m.flags.progress.value != "ndjson" {
		p.bars = mpb.New(mpb.WithOutput(m.Stderr), mpb.WithWidth(40))
		p.bar = p.bars.AddBar(total,
			mpb.PrependDecorators(decor.Name(verb+" "), decor.CountersNoUnit("%d of %d")),
			mpb.AppendDecorators(decor.Percentage(), decor.Name(" "), decor.AverageETA(decor.ET_STYLE_GO), decor.Name(" "),
				decor.Any(func(decor.Statistics) string { return visible(*p.note.Load()) })))
	}
	return p
}

// step updates the number done.
func (p *progress) step(done int) { p.tell(done, "", false) }

// tell updates the number done and the note. With now it prints a line even if none is due.
func (p *progress) tell(done int, note string, now bool) {
	p.note.Store(&note)
	if p.bar != nil {
		p.bar.SetCurrent(int64(done))
		return
	}
	if !now && time.Since(p.last) < p.m.ProgressEvery {
		return
	}
	p.last = time.Now()
	after := ""
	if note != "" {
		after = ": " + note
	}
	switch {
	case p.m.flags.progress.value == "ndjson":
		p.line(done)
	case p.total > 0:
		p.m.say("%s %d of %d%s", p.verb, done, p.total, after)
	default:
		p.m.say("%s %d%s", p.verb, done, after)
	}
}

// line prints the number done for programs.
func (p *progress) line(done int) {
	text, err := envelope("", progressView{p.verb, done, p.total, *p.note.Load()})
	if err == nil {
		_, _ = p.m.Stderr.Write(append(visibleJSON(text), '\n'))
	}
}

// progressView is the progress of a command as JSON, on stderr.
type progressView struct {
	What  string `json:"progress"` // what is done, as "redriven"
	Done  int    `json:"done"`
	Total int64  `json:"total,omitempty"` // if it is known
	Note  string `json:"note,omitempty"`
}

// end leaves the bar as it is and waits for its goroutines.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.Abort(false)
		p.bars.Wait()
	}
}
