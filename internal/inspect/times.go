package inspect

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrTime says that a text is neither a time nor an age.
var ErrTime = errors.New("neither a time like 2026-01-31T12:00:00Z nor an age like 90m, 24h or 7d")

// Moment is a time as people write it: RFC 3339, or how long before now it was; zero for "". The
// error is ErrTime.
func Moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if d, ok := Age(text); ok {
		return now.Add(-d), nil
	}
	return time.Time{}, ErrTime
}

// Age is a duration as Go or in whole days, such as 7d, and whether text is one: above 0.
func Age(text string) (time.Duration, bool) {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		days, err := strconv.Atoi(number)
		return time.Duration(days) * 24 * time.Hour, err == nil && days > 0 && days < math.MaxInt64/int(24*time.Hour)
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}
