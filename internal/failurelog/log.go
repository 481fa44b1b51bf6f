package failurelog

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/task"
)

const (
	// logEvery is the least time between two lines about the same failure of a handler.
	logEvery = 10 * time.Second
	// maxLogged bounds the failures that are told apart.
	maxLogged = 1000
	// maxLogError bounds an error's text in a line, in bytes.
	maxLogError = 1 << 10
)

// Log logs failures. It is safe for concurrent use.
type Log struct {
	Logger *slog.Logger

	mu    sync.Mutex
	kinds map[kind]*count
}

// kind is what the failures of one line have in common.
type kind struct {
	handler, fingerprint string
	next                 task.Outcome
}

type count struct {
	at     time.Time // of the last line
	more   int       // since then
	level  slog.Level
	newest []slog.Attr // what a line says of the newest that has none
}

// due reports whether a failure of kind k is to be logged now, and how many were not
// logged since the last line. Those that are not wait for Flush, with the newest's text and letter.
func (l *Log) due(k kind, level slog.Level, text string, letter int64, now time.Time) (more int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.kinds[k]
	if c == nil {
		if l.kinds == nil || len(l.kinds) >= maxLogged {
			l.flush(now, 0)
			l.kinds = make(map[kind]*count)
		}
		c = new(count)
		l.kinds[k] = c
	}
	if now.Sub(c.at) < logEvery {
		c.more++
		c.level, c.newest = level, append(c.newest[:0], slog.String("error", text))
		if letter > 0 {
			c.newest = append(c.newest, slog.Int64("letter", letter))
		}
		return 0, false
	}
	more, *c = c.more, count{at: now}
	return more, true
}

// Run logs what Flush does, every 10 seconds, until ctx ends. Flush logs the rest then.
func (l *Log) Run(ctx context.Context) {
	for sleep.For(ctx, logEvery) {
		l.mu.Lock()
		l.flush(time.Now(), logEvery)
		l.mu.Unlock()
	}
}

// Flush logs how many failures have no line yet: one line for each cause.
func (l *Log) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush(time.Now(), 0)
}

// flush does it for the causes whose last line is at least so old, and forgets those without
// failures since then. The caller holds l.mu.
func (l *Log) flush(now time.Time, age time.Duration) {
	for k, c := range l.kinds {
		if now.Sub(c.at) < age {
			continue
		}
		if c.more == 0 {
			delete(l.kinds, k)
			continue
		}
		attrs := append([]slog.Attr{slog.String("handler", k.handler), slog.String("error_fingerprint", k.fingerprint)}, c.newest...)
		attrs = append(attrs, slog.String("next", k.next.String()), slog.Int("not_logged", c.more))
		l.Logger.LogAttrs(context.Background(), c.level, "messages failed", attrs...)
		*c = count{at: now}
	}
}

// Failed logs which message failed, why, and what follows. Refused logs what no handler could
// take.
func (l *Log) Failed(f *outcome.Failure) {
	if f.Kind == outcome.Undecodable {
		return
	}
	h, d := f.Task.Handler, &f.Task.Delivery
	level, text := slog.LevelInfo, "message failed"
	switch {
	case f.Outcome == task.Dead:
		level = slog.LevelWarn
	case f.Postponed:
		text = "message postponed"
	}
	said := encode.Text(f.Description.Error, maxLogError)
	more, ok := l.due(kind{h.Name, f.Description.Fingerprint, f.Outcome}, level, said, f.LetterID, time.Now())
	if !ok {
		return
	}
	attrs := []slog.Attr{
		slog.String("handler", h.Name), slog.String("key", d.Key),
		slog.String("error", said), slog.String("class", f.Class),
		slog.String("error_type", f.Description.Type), slog.String("error_fingerprint", f.Description.Fingerprint),
		slog.Int("attempt", f.Attempt), slog.Duration("took", f.Took.Round(time.Microsecond)), slog.String("next", f.Outcome.String()),
	}
	if place := at(f.Description.Stack); place != "" {
		attrs = append(attrs, slog.String("at", place))
	}
	if f.Delay > 0 {
		attrs = append(attrs, slog.String("in", encode.Span(f.Delay.Round(time.Millisecond))))
	}
	l.log(level, text, attrs, d, f.LetterID, more)
}

// Refused logs a dead letter of a message that no handler was called for: nothing can decode
// it, it has no key, its broker gave it up, or its key belongs to another message. Others are
// failures.
func (l *Log) Refused(letter *dlq.Letter) {
	next := task.Dead
	switch letter.Class {
	case dlq.Conflict:
		next = task.Conflict
	case dlq.Undecodable, dlq.Ingested:
	default:
		return
	}
	said := encode.Text(letter.Error, maxLogError)
	more, ok := l.due(kind{letter.Handler, letter.ErrorFingerprint, next}, slog.LevelWarn, said, letter.LetterID, time.Now())
	if !ok {
		return
	}
	d := &letter.Delivery
	l.log(slog.LevelWarn, "message refused", []slog.Attr{
		slog.String("handler", letter.Handler), slog.String("key", d.Key),
		slog.String("error", said), slog.String("class", string(letter.Class)),
		slog.String("error_fingerprint", letter.ErrorFingerprint), slog.String("next", next.String()),
	}, d, letter.LetterID, more)
}

// log writes a line about the message d.
func (l *Log) log(level slog.Level, text string, attrs []slog.Attr, d *headrace.Delivery, letter int64, more int) {
	if letter > 0 {
		attrs = append(attrs, slog.Int64("letter", letter))
	}
	if parent := strings.Split(d.Trace.Parent, "-"); len(parent) == 4 { // a traceparent of W3C
		attrs = append(attrs, slog.String("trace_id", parent[1]))
	}
	if more > 0 {
		attrs = append(attrs, slog.Int("not_logged", more))
	}
	l.Logger.LogAttrs(context.Background(), level, text, attrs...)
}
