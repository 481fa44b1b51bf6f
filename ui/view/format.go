package view

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Count is a number with a comma at each thousand.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Plural is a number with its noun: one for 1, and others for any other number.
func Plural(n int64, one, others string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + others
}

// Span is a time in words, in its largest unit.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

// Took is how long a run took, which may be less than a millisecond.
func Took(d time.Duration) string {
	if d < time.Millisecond {
		return fmt.Sprintf("%d µs", d.Microseconds())
	}
	return Span(d)
}

// Rate is a number of things a second.
func Rate(perSecond float64) string {
	if perSecond > 0 && perSecond < 9.95 {
		return strconv.FormatFloat(perSecond, 'f', 1, 64) + "/s"
	}
	return Count(int64(math.Round(perSecond))) + "/s"
}

// Ago says how long before now a time was, or how long after; "never" for zero.
func Ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "never"
	case d < -time.Second:
		return "in " + Span(-d)
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	default:
		return Span(d) + " ago"
	}
}

// Clock is the whole time, in UTC; "" for zero.
func Clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000 UTC")
}

// Digits are the first 8 digits of a fingerprint.
func Digits(fingerprint string) string { return fingerprint[:min(len(fingerprint), 8)] }

// Dash is "–" for "".
func Dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// bare is a word that a shell leaves as it is.
var bare = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_-]+$`)

// Shell is a text as a word of a shell.
func Shell(s string) string {
	if bare.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Flags are options of a command, from pairs of name and value. Pairs without a value are left out.
func Flags(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			b.WriteString(" --" + pairs[i] + " " + Shell(pairs[i+1]))
		}
	}
	return b.String()
}

// Seen is a short hash of what a person saw. A form carries it, so that we refuse a decision on
// something that has changed since.
func Seen(parts ...any) string {
	sum := sha256.New()
	for _, part := range parts {
		if t, ok := part.(time.Time); ok {
			part = t.UnixMicro() // the same in each zone
		}
		_, _ = fmt.Fprintf(sum, "%T %q\n", part, fmt.Sprint(part))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// Visible makes control characters, and those that change the direction of text, visible: they
// become Go escapes. It leaves new lines and tabs, and bytes that are not UTF-8 become U+FFFD.
func Visible(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
}
