package encode

import (
	"strconv"
	"strings"
	"time"
)

// Minutes is Span without the seconds of a duration from two minutes on.
func Minutes(d time.Duration) string {
	if d >= 2*time.Minute {
		d = d.Round(time.Minute)
	}
	return Span(d)
}

// Span returns a duration for people: from two minutes on in days, hours, minutes and seconds,
// as "40 days 16 h", below as Go writes it. Round d to leave the small units out.
func Span(d time.Duration) string {
	if d < 0 {
		return "-" + Span(-d)
	}
	if d < 2*time.Minute {
		return d.String()
	}
	var parts []string
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, " days"}, {time.Hour, " h"}, {time.Minute, " min"}, {time.Second, " s"}} {
		if n := d / unit.size; n > 0 {
			name := unit.name
			if n == 1 && name == " days" {
				name = " day"
			}
			parts = append(parts, strconv.FormatInt(int64(n), 10)+name)
		}
		d %= unit.size
	}
	return strings.Join(parts, " ")
}
