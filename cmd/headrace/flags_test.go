package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// rawTexts are of parsers, and say nothing to a person.
var rawTexts = []string{"strconv", "invalid syntax", "invalid argument", "parsing", "time:", "unmarshal", "%!"}

// garbage is no value of a flag that is not any text.
const garbage = "gar bage"

// Each flag of each command that may not be any text says of garbage which flag it is, what was given, and what it takes.
func TestFlagErrors(t *testing.T) {
	p := &program{T: t, dsn: "sqlite:" + t.TempDir() + "/none.db"}
	walk(New().root(), func(name string, c *cobra.Command) {
		c.InheritedFlags()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); kind == "string" || strings.HasPrefix(kind, "string") {
				return
			}
			p.run(exitUsage, nil, append(strings.Fields(name), "--"+f.Name+"="+garbage)...)
			p.saysOfFlag(f.Name, garbage)
			if f.Value.Type() != "bool" {
				p.run(exitUsage, nil, append(strings.Fields(name), "--"+f.Name)...)
				if said := p.stderr.String(); !strings.Contains(said, "--"+f.Name+" needs a value: ") {
					t.Errorf("%s: %s", name, said)
				}
			}
		})
	})
}

// saysOfFlag fails the test unless an error names the flag, its value, and what is expected.
func (p *program) saysOfFlag(flag, value string) {
	p.Helper()
	said := p.stderr.String()
	if !strings.Contains(said, "--"+flag+` "`+value+`": it `) || slices.ContainsFunc(rawTexts, func(raw string) bool { return strings.Contains(said, raw) }) {
		p.Errorf("of --%s %q it says: %s", flag, value, said)
	}
}

// The same where a text is of a form, or a number of a range.
func TestFlagsOfAForm(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "1")
	for _, line := range []string{
		"dlq ls --since GARBAGE", "dlq ls --until GARBAGE", "dlq ls --header GARBAGE", "dlq ls --where GARBAGE", "dlq note a276 --link GARBAGE",
		"dlq edit 1 --reason x --yes --header GARBAGE", "audit ls --subject GARBAGE", "suspect begin --reason x --yes --until GARBAGE",
		"ui --listen GARBAGE", "ui --trace-url GARBAGE", "ui --runbook-url GARBAGE", "ui --proxy-header X --proxy-groups Y --role GARBAGE",
		"dlq show 1 --redact GARBAGE", "status --dsn-file GARBAGE",
		"redrive plan a276 --stages 1,0", "redrive plan a276 --stages=-1", "redrive plan a276 --window 10001", "redrive plan a276 --rate NaN", "redrive plan a276 --pause-at 101",
		"redrive plan a276 --valid 59s", "redrive plan a276 --valid 25h", "redrive plan a276 --stage-timeout 0s", "redrive apply R-1 --reason x --wait=-1s", "redrive resume R-1 --from-stage 0",
		"redrive letters R-1 --after=-1", "system pause bank --for 721h", "dlq mute a276 --for 0s", "prune --source-retention=-1h", "dlq ls --limit 10001",
	} {
		args := strings.Fields(line)
		last := len(args) - 1
		name, value, joined := strings.Cut(args[last], "=")
		if !joined {
			name, value = args[last-1], args[last]
		}
		if value == "GARBAGE" {
			value, args[last] = garbage, garbage
		}
		p.run(exitUsage, func(m *Main) {
			if name == "--dsn-file" {
				m.Getenv = func(string) string { return "" }
			}
		}, args...)
		p.saysOfFlag(strings.TrimPrefix(name, "--"), value)
	}
}

// Each command that asks takes --yes and -y.
func TestYes(t *testing.T) {
	walk(New().root(), func(name string, c *cobra.Command) {
		if f := c.Flags().Lookup("yes"); (f != nil) != (c.Flags().ShorthandLookup("y") != nil) || f != nil && f.Shorthand != "y" {
			t.Errorf("%s has one of --yes and -y", name)
		}
	})
}
