package outage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What fails for a moment, or while the database is away, is at level debug; what fails for
// longer is logged once, and when it works again.
func TestTell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		away := map[string]bool{}
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		logger = Logger(logger, func() bool { return away["inner"] }).With("consumer", "c")
		logger = Logger(logger, func() bool { return away["outer"] }).WithGroup("g")
		p := Part{Fails: "cannot beat", Works: "can beat again"}
		down := errors.New("down")
		tell := func(after time.Duration, err error, level string, n int) {
			t.Helper()
			time.Sleep(after)
			log.Reset()
			p.Tell(t.Context(), logger, err, "n", n)
			want := ""
			if err != nil {
				want = fmt.Sprintf("level=%s msg=\"cannot beat\" consumer=c g.n=%d g.error=down\n", level, n)
			} else if level != "" {
				want = fmt.Sprintf("level=%s msg=\"can beat again\" consumer=c g.n=%d\n", level, n)
			}
			if _, got, _ := strings.Cut(log.String(), " "); got != want {
				t.Errorf("%d: %q, want %q", n, got, want)
			}
		}
		tell(0, nil, "", 1)
		tell(0, down, "DEBUG", 2)
		tell(settled-1, down, "DEBUG", 3)
		tell(time.Hour, nil, "", 4)
		tell(0, down, "DEBUG", 5)
		tell(settled, down, "WARN", 6)
		tell(settled, down, "DEBUG", 7)
		tell(0, nil, "INFO", 8)
		tell(0, nil, "", 9)
		for _, which := range []string{"inner", "outer"} {
			away[which] = true
			tell(0, down, "DEBUG", 10)
			tell(time.Hour, down, "DEBUG", 11)
			away[which] = false
			tell(settled-1, down, "DEBUG", 12)
			tell(1, down, "WARN", 13)
			tell(0, nil, "INFO", 14)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		log.Reset()
		p.Tell(ended, logger, down)
		p = Part{Fails: "cannot beat"}
		tell(0, down, "DEBUG", 15)
		tell(settled, down, "WARN", 16)
		tell(0, nil, "", 17)
	})
}
