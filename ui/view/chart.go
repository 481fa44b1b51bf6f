package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/inspect"
)

// Rect is a rectangle of a chart.
type Rect struct {
	// X and Y are its upper left corner, W and H its size.
	X, Y, W, H float64
	// Kind is a class of the style sheet.
	Kind string
	// Says describes it in words.
	Says string
}

// The small chart of a group.
const (
	sparkHours              = 24
	sparkWidth, sparkHeight = 112.0, 22.0
)

// Spark draws the letters of the last 24 hours, and describes them in words. Recent hours with letters
// are hot if the group needs a person.
func Spark(hours []groups.Hour, hot bool, now time.Time) (bars []Rect, says string) {
	counts, most := perHour(hours, sparkHours, now)
	if most == 0 {
		return nil, "no letter in the last 24 hours"
	}
	kind := ""
	if hot {
		kind = "h"
	}
	step := sparkWidth / sparkHours
	for i, n := range counts {
		if n > 0 {
			h := max(1.5, sparkHeight*float64(n)/float64(most))
			bars = append(bars, Rect{X: round(float64(i) * step), Y: round(sparkHeight - h), W: round(step - 1), H: round(h), Kind: kind})
		}
	}
	return bars, fmt.Sprintf("letters per hour in the last 24 hours, at most %s", Count(most))
}

// perHour counts the letters of each of the last n hours, the newest last.
func perHour(hours []groups.Hour, n int, now time.Time) (counts []int64, most int64) {
	counts = make([]int64, n)
	for _, h := range hours {
		if i := hourOf(h.Start, n, now); i >= 0 {
			counts[i] += h.Count
			most = max(most, counts[i])
		}
	}
	return counts, most
}

// hourOf is the place of an hour among the last n; -1 if it is not one of them.
func hourOf(t time.Time, n int, now time.Time) int {
	ago := int(now.UTC().Truncate(time.Hour).Sub(t.UTC().Truncate(time.Hour)) / time.Hour)
	if ago < 0 || ago >= n {
		return -1
	}
	return n - 1 - ago
}

// Label is a text of a chart.
type Label struct {
	// X and Y are where its line of Text begins or ends.
	X, Y float64
	Text string
	// Anchor is "start", "middle" or "end".
	Anchor string
}

// Chart is the large chart of a group.
type Chart struct {
	// Bars are stacked by build. Lines are the heights of the grid, with Labels.
	Bars   []Rect
	Lines  []float64
	Labels []Label
	// Marks are the starts of builds.
	Marks []Label
	// Builds are those that wrote letters, with their class.
	Builds []Rect
	// Says describes the chart in words.
	Says string
}

// The size of the large chart.
const (
	chartHours              = 48
	chartLeft, chartRight   = 38.0, 856.0
	chartTop, chartBottom   = 22.0, 102.0
	chartKinds              = 4
	chartLabelY, chartMarkY = 117.0, 12.0
)

// ChartOf draws the letters of the last 48 hours by build, and when builds started.
func ChartOf(hours []groups.Hour, builds []inspect.Build, now time.Time) (c Chart) {
	counts, most := perHour(hours, chartHours, now)
	top := ceiling(most)
	step, scale := (chartRight-chartLeft)/chartHours, (chartBottom-chartTop)/float64(top)
	kinds := kindsOf(hours, &c)
	base := make([]float64, chartHours)
	for _, h := range hours {
		i := hourOf(h.Start, chartHours, now)
		if i < 0 || h.Count == 0 {
			continue
		}
		height := max(1, float64(h.Count)*scale)
		c.Bars = append(c.Bars, Rect{
			X: round(chartLeft + float64(i)*step + 1), Y: round(chartBottom - base[i] - height), W: round(step - 2), H: round(height), Kind: kinds[h.Build],
			Says: fmt.Sprintf("%s, %s: %s", h.Start.UTC().Format("Mon 15:04"), Dash(h.Build), Plural(h.Count, "letter", "letters")),
		})
		base[i] += height
	}
	for _, share := range []float64{0, 0.5, 1} {
		y := round(chartBottom - share*(chartBottom-chartTop))
		c.Lines = append(c.Lines, y)
		c.Labels = append(c.Labels, Label{chartLeft - 6, y + 4, Count(int64(share * float64(top))), "end"})
	}
	for i := 0; i < chartHours; i += 12 {
		start := now.UTC().Truncate(time.Hour).Add(time.Duration(i+1-chartHours) * time.Hour)
		c.Labels = append(c.Labels, Label{round(chartLeft + float64(i)*step), chartLabelY, start.Format("Mon 15:04"), "start"})
	}
	c.Labels = append(c.Labels, Label{chartRight, chartLabelY, "now", "end"})
	c.mark(builds, step, now)
	var all int64
	for _, n := range counts {
		all += n
	}
	c.Says = fmt.Sprintf("Letters per hour in the last 48 hours: %s, at most %s in an hour", Plural(all, "letter", "letters"), Count(most))
	return c
}

// kindsOf gives each build that wrote letters a class.
func kindsOf(hours []groups.Hour, c *Chart) map[string]string {
	kinds := make(map[string]string)
	for _, h := range hours {
		if _, known := kinds[h.Build]; !known {
			kinds[h.Build] = fmt.Sprintf("b%d", len(kinds)%chartKinds)
			c.Builds = append(c.Builds, Rect{Kind: kinds[h.Build], Says: cmp.Or(h.Build, "no name")})
		}
	}
	return kinds
}

// mark marks the starts of builds, at most three, the newest ones.
func (c *Chart) mark(builds []inspect.Build, step float64, now time.Time) {
	started := slices.SortedFunc(slices.Values(builds), func(a, b inspect.Build) int { return b.Started.Compare(a.Started) })
	for _, b := range started {
		since := now.Sub(b.Started).Hours()
		if b.Name == "" || b.Started.IsZero() || since < 0 || since >= chartHours-1 || len(c.Marks) == 3 {
			continue
		}
		x := round(chartRight - since*step)
		anchor := "end"
		if x < 200 {
			anchor = "start"
		}
		c.Marks = append(c.Marks, Label{x, chartMarkY + 11*float64(len(c.Marks)), encode.Short(Dash(b.Name), 24) + " starts " + b.Started.UTC().Format("15:04"), anchor})
	}
}

// ceiling is the next even number of at most one digit other than 0, from 2 on.
func ceiling(n int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, d := range []int64{2, 4, 6, 8, 10} {
			if d*unit >= n {
				return d * unit
			}
		}
	}
}

func round(f float64) float64 { return float64(int(f*10+0.5)) / 10 }
