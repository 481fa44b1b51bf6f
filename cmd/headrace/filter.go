package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/internal/inspect"
)

// filterFlags choose letters.
type filterFlags struct {
	set     *pflag.FlagSet
	filter  dlq.Filter
	class   choice
	since   string
	until   string
	headers []string
	state   choice
}

// narrowing are the flags that choose fewer letters.
var narrowing = []string{"consumer", "handler", "topic", "class", "group", "key", "since", "until", "build", "host", "text", "header", "where"}

func addFilter(c *cobra.Command) *filterFlags {
	f := &filterFlags{set: c.Flags()}
	for _, class := range dlq.Classes() {
		f.class.of = append(f.class.of, string(class))
	}
	addOwner(c, &f.filter)
	f.set.Var(&f.class, "class", "only this class: "+strings.Join(f.class.of, ", "))
	f.set.StringVar(&f.filter.Topic, "topic", "", "only messages from this topic")
	f.set.StringVar(&f.filter.ErrorFingerprint, "group", "", "only the group with this `error-fingerprint`, or its first digits, at least 4 (see headrace dlq groups)")
	f.set.StringVar(&f.filter.Key, "key", "", "only messages with this key")
	f.set.StringVar(&f.since, "since", "", "only letters written at this time (RFC 3339) or later, or in the last 24h, 7d")
	f.set.StringVar(&f.until, "until", "", "only letters written before this time, or longer ago than 24h, 7d")
	f.set.StringVar(&f.filter.Build, "build", "", "only letters that this build wrote")
	f.set.StringVar(&f.filter.Host, "host", "", "only letters that a process on this host wrote")
	f.set.StringVar(&f.filter.Text, "text", "", "only letters whose error, payload or trace id holds this `word`")
	f.set.StringArrayVar(&f.headers, "header", nil, "only messages with this header, as `name=value`; may be repeated")
	f.set.StringVar(&f.filter.Where, "where", "", "only messages whose payload is JSON for which this `condition` holds, like '$.total < 0' (RFC 9535)")
	return f
}

// addOwner adds the flags that tell apart groups of the same fingerprint.
func addOwner(c *cobra.Command, f *dlq.Filter) {
	c.Flags().StringVar(&f.Consumer, "consumer", "", "only letters of this consumer")
	c.Flags().StringVar(&f.Handler, "handler", "", "only letters of this handler")
}

// addState adds the flag for letters that are no longer open.
func (f *filterFlags) addState() {
	f.state = choice{value: string(dlq.Open), of: []string{string(dlq.Open), string(dlq.Redriven), string(dlq.Discarded), "any"}}
	f.set.Var(&f.state, "state", "letters in this state: "+strings.Join(f.state.of, ", "))
}

// given reports whether a flag narrows the choice.
func (f *filterFlags) given() bool {
	return slices.ContainsFunc(narrowing, f.set.Changed)
}

// parse returns the filter of the flags.
func (f *filterFlags) parse(now time.Time) (dlq.Filter, error) {
	filter := f.filter
	filter.Class = dlq.Class(f.class.value)
	var err error
	if filter.Since, err = parseTime("since", f.since, now); err != nil {
		return dlq.Filter{}, err
	}
	if filter.Until, err = parseTime("until", f.until, now); err != nil {
		return dlq.Filter{}, err
	}
	if filter.Headers, err = parseHeaders(f.headers); err != nil {
		return dlq.Filter{}, err
	}
	if _, err := search.Match(filter); err != nil {
		return dlq.Filter{}, wrong("where", filter.Where, "it must be a condition of RFC 9535, like '$.total < 0': %v", err)
	}
	if !filter.Since.IsZero() && !filter.Until.IsZero() && !filter.Since.Before(filter.Until) {
		return dlq.Filter{}, usagef("--since is not before --until")
	}
	switch f.state.value {
	case "", string(dlq.Open):
	case "any":
		filter.AnyState = true
	default:
		filter.State = dlq.State(f.state.value)
	}
	return filter, nil
}

// parseHeaders parses headers as name=value.
func parseHeaders(list []string) (map[string]string, error) {
	headers := make(map[string]string)
	for _, header := range list {
		name, value, ok := strings.Cut(header, "=")
		if !ok || name == "" {
			return nil, wrong("header", header, "it must be name=value")
		}
		if before, twice := headers[name]; twice && before != value {
			return nil, wrong("header", header, "it has another value before, %q", short(before, 80))
		}
		headers[name] = value
	}
	return headers, nil
}

// parseTime parses a time, or how long ago it was.
func parseTime(flag, s string, now time.Time) (time.Time, error) {
	t, err := inspect.Moment(s, now)
	if err != nil {
		return t, wrong(flag, s, "it is %v", err)
	}
	return t, nil
}
