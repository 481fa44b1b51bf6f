package search_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/search"
)

func TestWhere(t *testing.T) {
	const order = `{"total": -12.5, "n": 9007199254740993, "currency": "XBT", "lines": [{"sku": "a", "qty": 2}], "note": null, "x": {"y": true}}`
	for where, want := range map[string]bool{
		"$.total < 0":                        true,
		"$.total < -12.5":                    false,
		"$.total <= -12.5 && $.n > 1":        true,
		`$.currency == "XBT"`:                true,
		`$.currency == 'XB' || $.total < 0`:  true,
		`$.currency != "EUR"`:                true,
		"$.none != 1":                        true,
		"$.none == 1":                        false,
		"$.none <= null":                     false,
		"$.note == null":                     true,
		"$.note":                             true,
		"!$.none":                            true,
		"$.lines[0].qty == 2":                true,
		`$.lines[?@.sku == "a"]`:             true,
		"$.x.y == true":                      true,
		"length($.lines) > 1":                false,
		`search($.currency, "B")`:            true,
		"$.total < 0 && ($.a || $.currency)": true,
		"$['total'] < 0":                     true,
	} {
		m, err := search.Match(dlq.Filter{Where: where})
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if got := m.Holds([]byte(order), nil); got != want {
			t.Errorf("%s: %t", where, got)
		}
		if lit := m.Literal(); want && !bytes.Contains([]byte(order), lit) {
			t.Errorf("%s: no statement finds it by %q", where, lit)
		}
		for _, other := range []string{"", "null", "3", "[]", "{", `{"total":-1} {}`, "\xff", `{"n":1e999}`} {
			_ = m.Holds([]byte(other), nil)
		}
	}
	for _, where := range []string{"$.total <", "$.a], $[?$.b", "$.a][?$.b", "total < 0", "$.a = 1", "\x00"} {
		if m, err := search.Match(dlq.Filter{Where: where}); !errors.Is(err, search.ErrWhere) {
			t.Errorf("%q: %+v, %v", where, m, err)
		}
	}
}

// What is no JSON never holds, also under a condition that a missing value fulfils.
func TestWhereNeedsJSON(t *testing.T) {
	m, err := search.Match(dlq.Filter{Where: "!$.none"})
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{"", "{", "{} {}", "total=3", "\xff"} {
		if m.Holds([]byte(payload), nil) {
			t.Errorf("%q", payload)
		}
	}
	if !m.Holds([]byte(" {} \n"), nil) || m.Holds(nil, nil) {
		t.Error("an object with spaces around it, or no payload")
	}
}

// A literal is known only where no payload without it can fulfil the condition.
func TestLiteral(t *testing.T) {
	for where, want := range map[string]string{
		"$.total < 0":              `"total"`,
		" $.a.b[0].c>=-1e3 ":       `"a"`,
		`$.a == "x" && $.b != 1`:   `"a"`,
		`$.a == 'x' && !$.b`:       `"a"`,
		"$.a != 1":                 "",
		"$.a == 1 || $.b == 2":     "",
		"$.a == 1 && ($.b || $.c)": "",
		"!$.a":                     "",
		"$.a":                      "",
		"$.a == $.b":               "",
		"$.a == @.b":               "",
		`$.a == "x" || $.b`:        "",
		"$['a'] == 1":              "",
	} {
		m, err := search.Match(dlq.Filter{Where: where})
		if err != nil || string(m.Literal()) != want {
			t.Errorf("%s: %q, %v; want %q", where, m.Literal(), err, want)
		}
	}
}

// FuzzWhere: no condition and no payload ends the process, and the literal is in each payload
// for which a condition holds.
func FuzzWhere(f *testing.F) {
	f.Add("$.total < 0", `{"total":-1}`)
	f.Add(`$.a == 1e999`, `{"a":1e999}`)
	f.Add(`match($.a, "[")`, `{"a":"x"}`)
	f.Add("$..a", `[[{"a":1}]]`)
	f.Fuzz(func(t *testing.T, where, payload string) {
		m, err := search.Match(dlq.Filter{Where: where})
		if err != nil || m == nil {
			return
		}
		if m.Holds([]byte(payload), nil) && !bytes.Contains([]byte(payload), m.Literal()) && !bytes.Contains([]byte(payload), []byte(`\`)) {
			t.Fatalf("%q holds for %q, without %q", where, payload, m.Literal())
		}
	})
}
