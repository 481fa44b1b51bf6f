package inbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

func print(t testing.TB, f inbox.FingerprintFunc, p string) string {
	t.Helper()
	s, err := f(payload(p))
	if err != nil {
		t.Fatalf("fingerprint of %.60q: %v", p, err)
	}
	if len(s) != 32 {
		t.Fatalf("fingerprint %q has not 32 digits", s)
	}
	return s
}

// Fingerprints are stored: another one for the same payload would turn every
// redelivery after an upgrade into a conflict. These were computed with another
// program (sha256 of "json\n" or "bytes\n" and the canonical form).
func TestPayloadNeverChanges(t *testing.T) {
	for p, want := range map[string]string{
		``:                                "95cc8e8ec552664096b998c62dfd5dfd",
		`{}`:                              "9cdddd37e21250a04bdad94e1ff2e1e2",
		`{"b":[1,{}],"a":"\u00e9\u0007"}`: "5dabdd7cda3e35230ec5686a496f47d1",
		"\x00\xff":                        "07604212e62847cb6dd1d0b2779f3c43",
		`{"a":1,"a":2}`:                   "a809aac85c851809f0cf3d7701ab3d07",
	} {
		if got := print(t, inbox.Payload(), p); got != want {
			t.Errorf("fingerprint of %q is %s, want %s", p, got, want)
		}
	}
}

// nil is not empty: a handler sees the difference between a deletion and an empty value.
func TestPayloadOfATombstone(t *testing.T) {
	none, err := inbox.Payload()(&headrace.Delivery{})
	if empty := print(t, inbox.Payload(), ""); err != nil || none == empty || len(none) != len(empty) {
		t.Errorf("a tombstone has the fingerprint %s (%v), an empty payload %s", none, err, empty)
	}
}

// DESIGN §5, and a gateway that writes JSON anew makes no conflict.
func TestPayloadSame(t *testing.T) {
	for _, same := range [][]string{
		{`{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1}`, " { \"a\" : 1 ,\r\n\t\"b\" : [ true , null ] } "},
		{`{"a":"é<\"\\/"}`, `{"a":"\u00e9\u003c\u0022\u005C\/"}`, `{"\u0061":"\u00E9<\"\\/"}`},
		{`{"a":"🙂"}`, `{"a":"\ud83d\ude42"}`, `{"a":"\uD83D\uDE42"}`},
		{`"\n\t\u0000"`, `"\u000a\u0009\u0000"`},
		{`{"z":{"b":{"d":1,"c":2},"a":3},"y":4}`, `{"y":4,"z":{"a":3,"b":{"c":2,"d":1}}}`},
		{`[{"b":1,"a":2},{"d":3,"c":4}]`, `[{"a":2,"b":1},{"c":4,"d":3}]`},
		{`{"a":1,"aa":2,"":3}`, `{"":3,"aa":2,"a":1}`},
	} {
		for _, p := range same[1:] {
			if print(t, inbox.Payload(), p) != print(t, inbox.Payload(), same[0]) {
				t.Errorf("%q and %q differ", p, same[0])
			}
		}
	}
}

// INVARIANTS 3: 1-9, 14, 15, 22. A difference that a handler can see is one.
func TestPayloadDiffers(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	seen := make(map[string]string)
	for _, p := range []string{
		``, ` `, "\x00", "\xff", `{`, `{}`, `[]`, `null`, `"null"`, `""`, `{"":null}`, `[null]`, `[[]]`, `{"a":[]}`, `{"a":{}}`,
		`1`, `1.0`, `1e0`, `1E0`, `10e-1`, `-1`, `0`, `-0`, `"1"`, `[1]`, `1e400`, `9223372036854775808`, `12345678901234567890`,
		`12345678901234567891`, `01`, `{"a":1}`, `{"A":1}`, `{"a":"1"}`, `{"a":true}`, `{"a":null}`, `{"a":1,"b":2}`, `{"a":2,"b":1}`,
		`[1,2]`, `[2,1]`, `[12]`,
		`{"a":1,"a":2}`, `{"a":2,"a":1}`, `{"a":2}`, `{"a":1,"a":1}`, `{"a":1,"\u0061":2}`, `{"x":{"a":1,"a":2}}`,
		`{"b":0,"a":1,"a":2}`, `{"b":0,"a":2,"a":1}`,
		"{\"\xff\":1,\"\xfe\":2}", "{\"\xfe\":2,\"\xff\":1}", `{"\ud801":1,"\ud800":2}`, `{"\ud800":2,"\ud801":1}`, // the last of two names that read as U+FFFD
		`"\ud800"`, `"\ud801"`, `"\ufffd"`, `"\\ud800"`, `"\udc00\ud800"`, `"\u0000"`, `"\\u0000"`,
		"\"\xff\"", "\"\xfe\"", "\ufeff{}", "\ufeff {}", `{} x`, `{}{}`, `{},`,
		"\"caf\u00e9\"", "\"cafe\u0301\"", `{"a":1,}`, `[1,]`, `{"a" 1}`, `{a:1}`, "\"\n\"", `"\x"`, `"\u12"`, `tru`, `nul`, `truee`,
		deep(128), deep(129), deep(130), strings.Repeat("[", 100_000), deep(100_000), `{"a":` + deep(127) + `}`,
	} {
		f := print(t, inbox.Payload(), p)
		if other, ok := seen[f]; ok {
			t.Errorf("%.40q and %.40q have the same fingerprint", p, other)
		}
		seen[f] = p
	}
}

func TestFields(t *testing.T) {
	f := inbox.Fields("id", "order.total", "lines.0")
	base := print(t, f, `{"id":1,"order":{"total":"9.90"},"lines":[{"a":1,"b":2}],"sent_at":"10:00"}`)
	for _, same := range []string{
		`{"sent_at":"10:05","lines":[{"b":2,"a":1},3],"order":{"note":1,"total":"9.90"},"id":1}`,
		`{"id":0,"id":1,"order":{"total":"9.90"},"lines":[{"a":1,"b":2}]}`,
	} {
		if print(t, f, same) != base {
			t.Errorf("differs: %s", same)
		}
	}
	seen := map[string]string{base: "base"}
	for _, p := range []string{
		`{}`, `{"id":null}`, `{"id":1}`, `{"id":"1"}`, `{"id":1.0}`, `{"order":{"total":null}}`, `{"id":null,"order":{"total":null}}`,
		`{"id":{}}`, `{"id":[]}`, `{"id":{"a":1,"a":2}}`, `{"id":{"a":2,"a":1}}`, `{"id":{"a":2}}`, "{\"id\":\"\xff\"}", "{\"id\":\"\xfe\"}",
		`{"id":"\ud800"}`, `{"id":"\ud801"}`, `{"id":"-"}`, `{"lines":["-"]}`, `{"lines":[1]}`, `{"lines":[[1]]}`,
		`{"id":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
	} {
		got := print(t, f, p)
		if other, ok := seen[got]; ok {
			t.Errorf("%.60s and %.60s have the same fingerprint", p, other)
		}
		seen[got] = p
	}
	if print(t, inbox.Fields("b", "a", "b"), `{"a":1}`) != print(t, inbox.Fields("a", "b"), `{"a":1}`) {
		t.Error("the order of the paths counts")
	}
	mistyped := inbox.Fields("idd", "order.totl")
	if print(t, mistyped, `{"id":1}`) == print(t, mistyped, `{"id":2}`) || print(t, mistyped, `{"id":1}`) != print(t, mistyped, `{ "id": 1 }`) {
		t.Error("without any of the fields the payload does not count")
	}
	if print(t, inbox.Fields("a.b"), `{}`) == print(t, inbox.Fields("a", "b"), `{}`) {
		t.Error("one path and two paths have the same fingerprint")
	}
}

func TestFieldsMalformed(t *testing.T) {
	for _, p := range []string{"", "secret", "{", strings.Repeat("[", 100_000), `{"id":1} secret`} {
		s, err := inbox.Fields("id")(payload(p))
		if !errors.Is(err, inbox.ErrMalformed) || s != "" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q: %q, %v", p, s, err)
		}
	}
}

func BenchmarkPayload(b *testing.B) {
	small := `{"id":10492,"shop":"shop.example","total_price":"99.00","currency":"EUR","paid":true}`
	large := `{"orders":[` + strings.Repeat(small+",", 999) + small + `]}`
	for name, p := range map[string]string{
		"sorted":   `{"currency":"EUR","id":10492,"paid":true,"shop":"shop.example","total_price":"99.00"}`,
		"unsorted": small, "86KiB": large, "bytes": strings.Repeat("\x00\xff", 45),
	} {
		b.Run(name, func(b *testing.B) {
			d, f := payload(p), inbox.Payload()
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f(d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDefaultKey(b *testing.B) {
	d := &headrace.Delivery{ID: "b54557e4-0000-4000-8000-000000000000", Metadata: map[string]string{}, Payload: []byte(`{"id":10492}`)}
	for i := range 10 {
		d.Metadata[fmt.Sprint("x-header-", i)] = "value"
	}
	key := inbox.DefaultKey()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := inbox.Resolve(key, d); err != nil {
			b.Fatal(err)
		}
	}
}
