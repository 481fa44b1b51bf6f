package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headrace/headrace/internal/inspect"
)

// expected says what the flags take whose types are not ours; our own types say it themselves.
var expected = map[string]string{
	"bool": "it must be true or false, or stand alone",
}

// flagError names the flag, its value and what is expected, in place of what parsers say.
func flagError(_ *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := bad.GetFlag()
		if says, ok := expected[f.Value.Type()]; ok {
			return wrong(f.Name, bad.GetValue(), "%s", says)
		}
		return wrong(f.Name, bad.GetValue(), "%v", bad.Unwrap())
	}
	if none, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		_, usage := pflag.UnquoteUsage(none.GetFlag())
		return usagef("--%s needs a value: %s", none.GetFlag().Name, usage)
	}
	return err
}

// wrong is the error for the value of a flag, with what is expected.
func wrong(flag, value, format string, args ...any) error {
	return usagef("--%s %q: %s", flag, short(value, 80), fmt.Sprintf(format, args...))
}

// choice is a flag with a few allowed words.
type choice struct {
	value string
	of    []string
}

// String implements pflag.Value.
func (c *choice) String() string { return c.value }

// Type implements pflag.Value.
func (c *choice) Type() string { return "word" }

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return usagef("it may be one of %s", strings.Join(c.of, ", "))
	}
	c.value = s
	return nil
}

// limit is a flag for a whole number from 1 to most.
type limit struct{ n, most int }

// String implements pflag.Value.
func (l *limit) String() string {
	if l.n == 0 {
		return ""
	}
	return strconv.Itoa(l.n)
}

// Type implements pflag.Value.
func (l *limit) Type() string { return "number" }

// Set implements pflag.Value.
func (l *limit) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > l.most {
		return usagef("it must be a number from 1 to %d", l.most)
	}
	l.n = n
	return nil
}

// sizes is a flag for some limits.
type sizes struct {
	to   *[]int
	most int
}

// String implements pflag.Value.
func (z sizes) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*z.to), " ", ","), "[]")
}

// Type implements pflag.Value.
func (z sizes) Type() string { return "numbers" }

// Set implements pflag.Value.
func (z sizes) Set(s string) error {
	all := []int{}
	for _, word := range strings.Split(s, ",") {
		n := limit{most: z.most}
		if err := n.Set(strings.TrimSpace(word)); err != nil {
			return usagef("it must be numbers from 1 to %d with commas between them, like 1,10,100", z.most)
		}
		all = append(all, n.n)
	}
	*z.to = all
	return nil
}

// bounded is a flag for a number from 0 to most.
type bounded struct {
	to   *float64
	most float64
}

// String implements pflag.Value.
func (a bounded) String() string { return strconv.FormatFloat(*a.to, 'f', -1, 64) }

// Type implements pflag.Value.
func (a bounded) Type() string { return "number" }

// Set implements pflag.Value.
func (a bounded) Set(s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n <= a.most) {
		return usagef("it must be a number from 0 to %s", bounded{&a.most, 0})
	}
	*a.to = n
	return nil
}

// age is a flag for a time like 90m, 24h or 7d: from least to most, unless that is 0, or else above 0.
type age struct{ d, least, most time.Duration }

// String implements pflag.Value.
func (a *age) String() string {
	if a.d == 0 {
		return ""
	}
	return a.d.String()
}

// Type implements pflag.Value.
func (a *age) Type() string { return "time" }

// Set implements pflag.Value.
func (a *age) Set(s string) error {
	d, ok := inspect.Age(s)
	switch {
	case a.most > 0 && (!ok || d < a.least || d > a.most):
		return usagef("it must be a time from %s to %s, like 30m or 24h", a.least, a.most)
	case !ok:
		return usagef("it must be a time like 90m, 24h or 7d")
	}
	a.d = d
	return nil
}

// cause is what is wrong with a file, without its name.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
