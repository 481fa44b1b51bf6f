package main

import (
	"fmt"
	"time"
)

// relative reports whether times are shown as how long ago they were: to a person, unless --utc.
func (m *Main) relative() bool { return !m.flags.utc && !m.json() && m.Terminal(m.Stdout) }

// when formats a time: "4 min ago" or "in 4 min" for a person; "-" for zero.
func (m *Main) when(t time.Time) string {
	switch ago := time.Since(t); {
	case t.IsZero() || !m.relative():
		return when(t)
	case ago < 0:
		return "in " + span(-ago)
	default:
		return span(ago) + " ago"
	}
}

// since formats a time after the word since: "4 min" for a person.
func (m *Main) since(t time.Time) string {
	if t.IsZero() || !m.relative() {
		return when(t)
	}
	return span(time.Since(t))
}

// span formats a duration with one unit.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}
