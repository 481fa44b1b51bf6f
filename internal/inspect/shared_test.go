package inspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace/dlq"
)

// What tells letters from others comes first; what all have, and what each has for itself, is not told.
func TestTell(t *testing.T) {
	t.Parallel()
	counts := make(map[[2]string]*Trait)
	add := func(n int, out bool, body string, headers map[string]string) {
		var l dlq.Letter
		l.Build = "v1"
		for trait := range traitsOf(l, []byte(body), headers) {
			if counts[trait] == nil {
				counts[trait] = &Trait{Where: trait[0], Value: trait[1]}
			}
			if out {
				counts[trait].Out++
			} else {
				counts[trait].In++
			}
		}
	}
	const n = 20
	for i := range n {
		add(i, false, fmt.Sprintf(`{"id":%d,"total":-%d,"shop":"s%d","lines":[{"sku":"a"},{"sku":"b"}],"ok":true}`, i, i+1, i%2), map[string]string{"x-source": "app"})
		add(i, true, fmt.Sprintf(`{"id":%d,"total":%d,"shop":"s%d","lines":[],"ok":true}`, 100+i, i+1, i%4), nil)
	}
	list := tell(counts, n, n)
	var told []string
	for _, trait := range list {
		told = append(told, trait.Where+" "+trait.Value)
	}
	got := strings.Join(told, "; ")
	for _, want := range []string{`$.total below 0`, `$.lines[*].sku "a"`, `header x-source app`, `$.shop "s0"`} {
		if !strings.Contains(got, want) {
			t.Errorf("not told: %s: %s", want, got)
		}
	}
	for _, no := range []string{"$.id", "x-source is there", "build", "$.ok", "[]"} {
		if strings.Contains(got, no) {
			t.Errorf("told: %s: %s", no, got)
		}
	}
	if list[len(list)-1].Where != "$.shop" {
		t.Errorf("the smallest difference is not the last: %s", got)
	}
}

// No payload makes more of it than is bounded, or fails.
func TestTraitsAreBounded(t *testing.T) {
	t.Parallel()
	wide := "{"
	for i := range 5000 {
		wide += fmt.Sprintf("%q:%d,", fmt.Sprint("k", i), i)
	}
	for _, body := range []string{"", "null", "{", "\xff", strings.Repeat("[", 10_000), wide + `"z":1}`, `{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":{"j":1}}}}}}}}}}`, `{"n":1e999999,"s":"\ud800"}`} {
		if n := len(traitsOf(dlq.Letter{}, []byte(body), nil)); n > sharedPaths+2 {
			t.Errorf("%d traits of %.20s", n, body)
		}
	}
}
