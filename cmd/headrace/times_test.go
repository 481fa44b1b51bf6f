package main

import (
	"strings"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 0: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min", 119 * time.Minute: "119 min", 2 * time.Hour: "2 h", 47 * time.Hour: "47 h", 50 * time.Hour: "2 d",
	} {
		if got := span(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// A person reads how long ago it was, a program and --utc the time; nothing is coloured.
func TestTimes(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "1")
	terminal := func(m *Main) { m.Terminal = func(any) bool { return true } }
	for _, c := range []struct {
		on   func(*Main)
		args string
		ago  bool
	}{
		{terminal, "dlq ls", true}, {terminal, "dlq ls --utc", false}, {nil, "dlq ls", false}, {terminal, "dlq ls -o ndjson", false}, {terminal, "dlq show 1", true},
	} {
		p.run(exitDone, c.on, strings.Fields(c.args)...)
		if ago := strings.Contains(p.stdout.String(), " s ago"); ago != c.ago || ago == strings.Contains(p.stdout.String(), "T") && strings.Contains(p.stdout.String(), "Z ") {
			t.Errorf("%s: %s", c.args, &p.stdout)
		}
		if strings.Contains(p.stdout.String()+p.stderr.String(), "\x1b") {
			t.Errorf("%s: %q", c.args, p.stdout.String())
		}
	}
}
