package inspect

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store"
)

// Build is a build that has written letters of a group, or runs.
type Build struct {
	// Name is what the program says; "" if it says nothing.
	Name string `json:"build"`
	// Letters counts those of the group in the last 35 days, First is when the first was written.
	Letters int64     `json:"letters"`
	First   time.Time `json:"first,omitzero"`
	// Running counts processes, Since is the start of the first of them. Started is when the
	// consumer first started the build; zero if unknown.
	Running int       `json:"running"`
	Since   time.Time `json:"since,omitzero"`
	Started time.Time `json:"first_start,omitzero"`
}

// Fixed reports whether a build that runs has written no letter of the group.
func (b Build) Fixed() bool { return b.Running > 0 && b.Letters == 0 }

// Builds returns the builds that wrote letters, by their first one, and then others that
// run; and how many processes run.
func Builds(hours []groups.Hour, processes []instance.Instance, started []groups.Build) (builds []Build, running int) {
	of := func(name string) *Build {
		i := slices.IndexFunc(builds, func(b Build) bool { return b.Name == name })
		if i < 0 {
			i, builds = len(builds), append(builds, Build{Name: name})
			if n := slices.IndexFunc(started, func(b groups.Build) bool { return b.Name == name }); n >= 0 {
				builds[i].Started = started[n].First
			}
		}
		return &builds[i]
	}
	for _, h := range hours {
		b := of(h.Build)
		b.Letters += h.Count
		if b.First.IsZero() || h.First.Before(b.First) {
			b.First = h.First
		}
	}
	for _, i := range processes {
		if !i.Alive() {
			continue
		}
		b := of(i.Build)
		b.Running++
		running++
		if b.Since.IsZero() || i.Started.Before(b.Since) {
			b.Since = i.Started
		}
	}
	return builds, running
}

// Running counts the processes of a consumer that run, by build.
func Running(ctx context.Context, st store.Store, consumer string) (map[string]int, error) {
	builds := make(map[string]int)
	list, err := st.Operations().Instances.List(ctx, consumer)
	for _, i := range list {
		if i.Alive() {
			builds[i.Build]++
		}
	}
	return builds, err
}

// NewestBuild returns the build of the running processes that was started last; "" if none runs.
func NewestBuild(ctx context.Context, st store.Store, consumer string) (string, error) {
	list, err := st.Operations().Instances.List(ctx, consumer)
	first := make(map[string]time.Time)
	for _, i := range list {
		if !i.Alive() {
			continue
		}
		if since, known := first[i.Build]; !known || i.Started.Before(since) {
			first[i.Build] = i.Started
		}
	}
	if len(first) == 0 {
		return "", err
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(first)), func(a, b string) int { return first[a].Compare(first[b]) }), err
}
