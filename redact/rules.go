package redact

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Mark stands where something was hidden.
const Mark = "[redacted]"

// builtIn is read as a file is.
const builtIn = `
path *.*email*
path *.*password*
path *.*passwd*
path *.*passphrase*
path *.*secret*
path *.*token*
path *.authorization
path *.cookie
path *.set_cookie
path *.*api_key*
path *.*access_key*
path *.*private_key*
path *.*card_number*
path *.cvc
path *.cvv
header authorization
header proxy-authorization
header cookie
header set-cookie
header *token*
header *secret*
header *password*
header *key*
`

const (
	maxRules = 1000 // of a file
	maxFile  = 1 << 20
)

// Rules say what is hidden. They never change, and may be used concurrently.
type Rules struct {
	paths   []path
	headers []pattern
	values  []*regexp.Regexp
}

// New returns the built-in rules.
func New() *Rules {
	r, err := Parse("built in", nil)
	if err != nil {
		panic(err) // a test reads them
	}
	return r
}

// Load returns the built-in rules and those of a file; see the package for its form.
func Load(file string) (*Rules, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, text)
}

// Parse returns the built-in rules and those of the text of a file. The error names the file and the line.
func Parse(file string, text []byte) (*Rules, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", file, maxFile)
	}
	r := &Rules{}
	if err := r.add("built in", builtIn); err != nil {
		return nil, err
	}
	return r, r.add(file, string(text))
}

func (r *Rules) add(file, text string) error {
	n, rules := 0, 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if rules++; rules > maxRules {
			return fmt.Errorf("%s:%d: more than %d rules", file, n, maxRules)
		}
		if err := r.rule(line); err != nil {
			return fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	return nil
}

func (r *Rules) rule(line string) error {
	kind, rest := line, ""
	if i := strings.IndexAny(line, " \t"); i > 0 {
		kind, rest = line[:i], strings.TrimSpace(line[i:])
	}
	if rest == "" {
		return fmt.Errorf("a rule is path, header or value, and what to hide")
	}
	switch kind {
	case "path":
		p, err := parsePath(rest)
		r.paths = append(r.paths, p)
		return err
	case "header":
		r.headers = append(r.headers, pattern(fold(rest)))
		return nil
	case "value":
		re, err := regexp.Compile(rest)
		if err != nil {
			return err
		}
		if re.MatchString("") {
			return fmt.Errorf("%s matches the empty text, which is everywhere", rest)
		}
		r.values = append(r.values, re)
		return nil
	}
	return fmt.Errorf("%q is not path, header or value", kind)
}

// path leads to members of JSON objects.
type path struct {
	anywhere bool // at any depth
	names    []pattern
}

func parsePath(text string) (p path, err error) {
	text, p.anywhere = strings.CutPrefix(text, "*.")
	for name := range strings.SplitSeq(text, ".") {
		if name == "" {
			return p, fmt.Errorf("path %q has an empty name", text)
		}
		p.names = append(p.names, pattern(fold(name)))
	}
	return p, nil
}

// hides reports whether a rule hides the member at the end of names, which are folded.
func (r *Rules) hides(names []string) bool {
	for _, p := range r.paths {
		skip := len(names) - len(p.names)
		if skip < 0 || skip > 0 && !p.anywhere {
			continue
		}
		all := true
		for i := len(p.names) - 1; i >= 0 && all; i-- {
			all = p.names[i].matches(names[skip+i])
		}
		if all {
			return true
		}
	}
	return false
}

// pattern is a folded name, in which * stands for any characters.
type pattern string

func (p pattern) matches(name string) bool {
	first, rest, star := strings.Cut(string(p), "*")
	if !star {
		return name == first
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}

// fold removes what does not count in a name.
func fold(name string) string {
	if strings.IndexFunc(name, func(c rune) bool { return c == '-' || c == '_' || c >= 'A' && c <= 'Z' || c > 0x7f }) < 0 {
		return name
	}
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}
