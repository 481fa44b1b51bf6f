package failurelog

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/dlq"
)

// A storm of one failure is a line now and then, with the number of those that have none.
func TestDue(t *testing.T) {
	var l Log
	now := time.Now()
	k := kind{handler: "orders", fingerprint: "a"}
	if more, ok := l.due(k, slog.LevelInfo, "boom", 0, now); !ok || more != 0 {
		t.Errorf("the first: %d, %t", more, ok)
	}
	for range 5 {
		if _, ok := l.due(k, slog.LevelInfo, "boom", 0, now.Add(logEvery-1)); ok {
			t.Error("one of the same within logEvery has a line of its own")
		}
	}
	if _, ok := l.due(kind{handler: "orders", fingerprint: "b"}, slog.LevelInfo, "boom", 0, now); !ok {
		t.Error("another reason has no line")
	}
	if more, ok := l.due(k, slog.LevelInfo, "boom", 0, now.Add(logEvery)); !ok || more != 5 {
		t.Errorf("after logEvery: %d, %t", more, ok)
	}
	for i := range 3 * maxLogged {
		l.due(kind{fingerprint: fmt.Sprint(i)}, slog.LevelInfo, "boom", 0, now)
	}
	if n := len(l.kinds); n > maxLogged {
		t.Errorf("%d kinds are kept", n)
	}
}

// Those without a line have one for each cause when no other failure follows, and at the end.
func TestFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		l := Log{Logger: slog.New(slog.NewTextHandler(&text, nil))}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go l.Run(ctx)
		refuse := func(id int64) {
			l.Refused(&dlq.Letter{
				LetterID: id, Handler: "orders", Class: dlq.Undecodable, ErrorFingerprint: "a", Error: fmt.Sprint("no JSON at ", id),
			})
		}
		lines := func() []string {
			defer text.Reset()
			return strings.Split(strings.TrimSpace(text.String()), "\n")
		}
		time.Sleep(logEvery / 2)
		for id := range int64(4) {
			refuse(id + 1)
		}
		if got := lines(); len(got) != 1 || !strings.Contains(got[0], "letter=1") {
			t.Errorf("at once: %q", got)
		}
		time.Sleep(2 * logEvery)
		want := `level=WARN msg="messages failed" handler=orders error_fingerprint=a error="no JSON at 4" letter=4 next=dead not_logged=3`
		if got := lines(); len(got) != 1 || !strings.HasSuffix(got[0], want) {
			t.Errorf("later: %q", got)
		}
		refuse(5) // less than 10 s after that line
		if l.Flush(); !strings.Contains(text.String(), "letter=5 next=dead not_logged=1") {
			t.Errorf("at the end: %q", text.String())
		}
		text.Reset()
		if l.Flush(); text.Len() > 0 {
			t.Errorf("again: %q", text.String())
		}
	})
}
