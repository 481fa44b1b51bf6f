package outage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/encode"
)

// settled is how long a part must fail to be logged. Within that time the consumer finds out
// whether the database is away.
const settled = 5 * time.Second

// Logger returns a logger to the same handler, for parts. away reports whether the database
// is away, and that is logged elsewhere. It may block for a moment.
func Logger(to *slog.Logger, away func() bool) *slog.Logger {
	return slog.New(handler{to.Handler(), away})
}

type handler struct {
	slog.Handler
	away func() bool
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.away}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.away}
}

// isAway reports whether h, or a Logger that it writes to, knows that the database is away.
func isAway(h slog.Handler) bool {
	outer, ok := h.(handler)
	return ok && (outer.away() || isAway(outer.Handler))
}

// Part logs whether a part works. It is safe for concurrent use.
type Part struct {
	// Fails says what fails, and Works that it works again; without Works that is not logged.
	Fails, Works string

	mu    sync.Mutex
	since time.Time // of the first failure that counts
	told  bool
}

// Tell tells how a try went: err is nil if it succeeded. An err after the end of ctx does not
// count. args are attributes of the line.
func (p *Part) Tell(ctx context.Context, logger *slog.Logger, err error, args ...any) {
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		if p.told && p.Works != "" {
			logger.Info(p.Works, args...)
		}
		p.since, p.told = time.Time{}, false
		return
	}
	level, now := slog.LevelDebug, time.Now()
	switch {
	case p.told:
	case p.since.IsZero():
		p.since = now
	case now.Sub(p.since) < settled:
	case isAway(logger.Handler()):
		p.since = now // it may come back a moment after the database
	default:
		level, p.told = slog.LevelWarn, true
	}
	logger.Log(ctx, level, p.Fails, append(args, "error", encode.Said(err))...)
}
