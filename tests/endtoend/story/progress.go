package story

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows how far a source is, until stop: a bar on a terminal, otherwise a line now and then. It is
// what log lines are written to, so that they stand above the bar.
type progress struct {
	io.Writer
	stop func()
}

// startProgress shows src on w. total is how many webhooks there are; 0 if unknown.
func startProgress(w *os.File, src *source, total int) progress {
	if info, err := w.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return bar(w, src, total)
	}
	return lines(w, src, total)
}

func bar(w io.Writer, src *source, total int) progress {
	p := mpb.New(mpb.WithOutput(w), mpb.WithWidth(60), mpb.WithAutoRefresh())
	b := p.AddBar(int64(total),
		mpb.PrependDecorators(decor.Name("orders "), decor.Any(func(decor.Statistics) string { return src.progress() })),
		mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_MMSS)))
	stop := every(100*time.Millisecond, func() { b.SetCurrent(src.acknowledged.Load()) })
	return progress{p, func() {
		stop()
		b.SetTotal(-1, true)
		p.Wait()
	}}
}

// lines writes one for each twentieth of total, or every two seconds where it is unknown.
func lines(w io.Writer, src *source, total int) progress {
	out := &syncWriter{w: w}
	var written, step int64 = -1, max(1, int64(total)/20)
	last := time.Now()
	stop := every(20*time.Millisecond, func() {
		acknowledged := src.acknowledged.Load()
		if total > 0 && acknowledged/step == written || total == 0 && time.Since(last) < 2*time.Second {
			return
		}
		written, last = acknowledged/step, time.Now()
		fmt.Fprintf(out, "orders: %s\n", src.progress())
	})
	return progress{out, stop}
}

// every calls f until the function that it returns is called; that one waits for the last call.
func every(d time.Duration, f func()) (stop func()) {
	quit := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		ticker := time.NewTicker(d)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				f()
			case <-quit:
				f()
				return
			}
		}
	})
	return func() {
		close(quit)
		ticking.Wait()
	}
}

// progress says in words how far it is.
func (s *source) progress() string {
	return fmt.Sprintf("%d handed out, %d acknowledged", s.handedOut.Load(), s.acknowledged.Load())
}

// syncWriter is a writer for several goroutines.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (s *syncWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}
