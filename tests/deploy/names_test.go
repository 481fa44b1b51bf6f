package deploy_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	rulesFile     = "../../deploy/prometheus/headrace.rules.yml"
	dashboardFile = "../../deploy/grafana/headrace.json"
)

// rule finds the expressions of the rules, each on one line or as a block, and what they record.
var (
	ruleExpr   = regexp.MustCompile(`(?m)^    expr: (?:\|\n((?:      .*\n)+)|(.+)$)`)
	ruleRecord = regexp.MustCompile(`(?m)^  - record: (\S+)$`)
)

func rules(t *testing.T) (exprs, recorded []string) {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ruleExpr.FindAllStringSubmatch(string(text), -1) {
		exprs = append(exprs, m[1]+m[2])
	}
	for _, m := range ruleRecord.FindAllStringSubmatch(string(text), -1) {
		recorded = append(recorded, m[1])
	}
	if n := strings.Count(string(text), "expr:"); n != len(exprs) || n == 0 {
		t.Fatalf("%d of %d expressions were read", len(exprs), n)
	}
	return exprs, recorded
}

func dashboard(t *testing.T) (exprs []string) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Type, Query string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	if len(board.Panels) != 14 {
		t.Errorf("%d panels", len(board.Panels))
	}
	for _, p := range board.Panels {
		if len(p.Targets) == 0 {
			t.Error("a panel asks for nothing")
		}
		for _, target := range p.Targets {
			exprs = append(exprs, target.Expr)
		}
	}
	for _, v := range board.Templating.List {
		if v.Type == "query" {
			exprs = append(exprs, v.Query)
		}
	}
	return exprs
}

// The parts of an expression.
var (
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right) *\(([^()]*)\)`)
	values   = regexp.MustCompile(`label_values\(([a-z_]+), ([a-z_]+)\)`)
	selector = regexp.MustCompile(`\b((?:headrace|messaging)[a-z0-9_:]*)(?:\{([^{}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+) *(=~|!=|!~|=) *"([^"]*)"`)
)

// check compares an expression with what was scraped.
func (s scrape) check(t *testing.T, expr string, recorded []string) {
	t.Helper()
	var groups []string
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		groups = append(groups, strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	for _, m := range values.FindAllStringSubmatch(expr, -1) {
		groups = append(groups, m[2])
		expr = m[1]
	}
	grouped := make(map[string]bool)
	found := selector.FindAllStringSubmatch(grouping.ReplaceAllString(expr, ""), -1)
	if len(found) == 0 {
		t.Errorf("%s: no metric", expr)
	}
	for _, m := range found {
		name := m[1]
		if strings.Contains(name, ":") {
			if !slices.Contains(recorded, name) {
				t.Errorf("%s: no rule records %s", expr, name)
			}
			grouped["headrace_consumer"] = true
			continue
		}
		labels, ok := s[name]
		if !ok {
			t.Errorf("%s: no consumer exports %s", expr, name)
			continue
		}
		for label := range labels {
			grouped[label] = true
		}
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			s.value(t, expr, name, l[1], l[3])
		}
	}
	for _, label := range groups {
		if !grouped[label] {
			t.Errorf("%s: its metrics have no label %s", expr, label)
		}
	}
}

// value compares the values of a matcher with those of a metric.
func (s scrape) value(t *testing.T, expr, name, label, pattern string) {
	t.Helper()
	if s[name][label] == nil {
		t.Errorf("%s: %s has no label %s", expr, name, label)
		return
	}
	if strings.HasPrefix(pattern, "$") { // a variable of the dashboard
		return
	}
	for value := range strings.SplitSeq(pattern, "|") {
		if !s[name][label][value] {
			t.Errorf("%s: %s has no %s=%q", expr, name, label, value)
		}
	}
}

// Each name in the rules and in the dashboard is one that a consumer exports.
func TestNames(t *testing.T) {
	s := scraped(t)
	exprs, recorded := rules(t)
	for _, expr := range append(exprs, dashboard(t)...) {
		s.check(t, expr, recorded)
	}
}
