package inbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"pgregory.net/rapid"
)

func resolve(t testing.TB, f inbox.KeyFunc, d *headrace.Delivery) string {
	t.Helper()
	key, err := inbox.Resolve(f, d)
	if err != nil {
		t.Fatalf("resolve: %v", err)
	}
	return key
}

// refused checks that f gives an error that matches want and shows nothing of the
// delivery.
func refused(t testing.TB, f inbox.KeyFunc, d *headrace.Delivery, want error) {
	t.Helper()
	key, err := inbox.Resolve(f, d)
	if !errors.Is(err, want) {
		t.Fatalf("key %q, error %v; want an error that matches %q", key, err, want)
	}
	if other := map[error]error{inbox.ErrAbsent: inbox.ErrMalformed, inbox.ErrMalformed: inbox.ErrAbsent}[want]; errors.Is(err, other) {
		t.Fatalf("error %q matches both sentinels", err)
	}
	if key != "" {
		t.Fatalf("key %q beside error %v", key, err)
	}
	if text := err.Error(); strings.Contains(text, "secret") {
		t.Fatalf("error shows the delivery: %s", text)
	}
}

func value(s string) inbox.KeyFunc {
	return func(*headrace.Delivery) (string, error) { return s, nil }
}

func fails(err error) inbox.KeyFunc {
	return func(*headrace.Delivery) (string, error) { return "", fmt.Errorf("%w: for the test", err) }
}

// DESIGN §5: empty or over 512 bytes is refused, never "". INVARIANTS 3: 4, 19, 20,
// 21, 24.
//
//evidence:undecodable
func TestResolveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		key  string
		want error
	}{
		"empty":               {"", inbox.ErrAbsent},
		"one byte too long":   {strings.Repeat("k", 513), inbox.ErrMalformed},
		"1 MiB":               {strings.Repeat("k", 1<<20), inbox.ErrMalformed},
		"NUL":                 {"secret\x00", inbox.ErrMalformed},
		"invalid UTF-8":       {"secret\xff", inbox.ErrMalformed},
		"cut character":       {"secret\xc3", inbox.ErrMalformed},
		"space":               {" ", inbox.ErrMalformed},
		"white space":         {"\t\r\n \u00a0\u2003", inbox.ErrMalformed},
		"surrogate in UTF-8":  {"\xed\xa0\x80", inbox.ErrMalformed},
		"overlong slash (C0)": {"\xc0\xaf", inbox.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) { refused(t, value(c.key), &headrace.Delivery{}, c.want) })
	}
}

// INVARIANTS 3: 20, 21, 24. What is allowed comes back byte by byte.
func TestResolveKeeps(t *testing.T) {
	for _, key := range []string{
		"0", strings.Repeat("k", 512), strings.Repeat("k", 37), " leading", "trailing ", "Order", "order",
		"caf\u00e9", "cafe\u0301", "it's", "100%", "../../etc", "a\nb", "a\r\nb", `"; drop table`, "\u202eabc", "🙂", "\x1b[31m",
		"\ufffd", "\ufeff1",
	} {
		if got := resolve(t, value(key), &headrace.Delivery{}); got != key {
			t.Errorf("key %q became %q", key, got)
		}
	}
}

func TestResolveSurvivesPanic(t *testing.T) {
	refused(t, func(*headrace.Delivery) (string, error) { panic("secret") }, &headrace.Delivery{}, inbox.ErrMalformed)
	refused(t, func(d *headrace.Delivery) (string, error) { return string(d.Payload[5]), nil }, &headrace.Delivery{}, inbox.ErrMalformed)
}

func TestFirst(t *testing.T) {
	broken := errors.New("broken")
	absent, malformed := fails(inbox.ErrAbsent), fails(inbox.ErrMalformed)
	d := &headrace.Delivery{}
	if got := resolve(t, inbox.First(absent, value(""), value("b"), value("c")), d); got != "b" {
		t.Errorf("first is %q", got)
	}
	if got := resolve(t, inbox.First(inbox.First(absent), value("b")), d); got != "b" {
		t.Errorf("a nested First that is absent: %q", got)
	}
	// DESIGN §5: an absent part is different from a malformed one.
	refused(t, inbox.First(malformed, value("b")), d, inbox.ErrMalformed)
	refused(t, inbox.First(absent, malformed, value("b")), d, inbox.ErrMalformed)
	refused(t, inbox.First(absent, absent), d, inbox.ErrAbsent)
	if _, err := inbox.Resolve(inbox.First(fails(broken), value("b")), d); !errors.Is(err, broken) {
		t.Errorf("an error of another kind is passed over: %v", err)
	}
}

func TestJoin(t *testing.T) {
	d := &headrace.Delivery{}
	for want, parts := range map[string][]inbox.KeyFunc{
		"a":         {value("a")},
		"a:b:c":     {value("a"), value("b"), value("c")},
		`a\:b:c`:    {value("a:b"), value("c")},
		`a\\:b`:     {value(`a\`), value("b")},
		`a\\\:b`:    {value(`a\:b`)},
		" : ":       {value(" "), value(" ")},
		"a:0:é:\n!": {value("a"), value("0"), value("é"), value("\n!")},
	} {
		if got := resolve(t, inbox.Join(parts...), d); got != want {
			t.Errorf("join is %q, want %q", got, want)
		}
	}
	refused(t, inbox.Join(value("a"), value("")), d, inbox.ErrAbsent)
	refused(t, inbox.Join(value("a"), fails(inbox.ErrAbsent), fails(inbox.ErrMalformed)), d, inbox.ErrAbsent)
	refused(t, inbox.Join(value("a"), fails(inbox.ErrMalformed)), d, inbox.ErrMalformed)
	refused(t, inbox.Join(value(strings.Repeat("a", 300)), value(strings.Repeat("b", 300))), d, inbox.ErrMalformed)
}

// DESIGN §5: separators are escaped. Different parts never give one key.
func TestJoinIsInjective(t *testing.T) {
	part := rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', ':', '\\'}), 1, 4, -1)
	lists := rapid.SliceOfN(part, 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := lists.Draw(t, "a"), lists.Draw(t, "b")
		same := strings.Join(a, "\x00") == strings.Join(b, "\x00")
		if got := joined(a) == joined(b); got != same {
			t.Fatalf("%q and %q: %q and %q", a, b, joined(a), joined(b))
		}
	})
}

func joined(parts []string) string {
	fs := make([]inbox.KeyFunc, len(parts))
	for i, p := range parts {
		fs[i] = value(p)
	}
	key, err := inbox.Join(fs...)(&headrace.Delivery{})
	if err != nil {
		panic(err)
	}
	return key
}

// A key function is built once and used by many goroutines: a call must not change
// what the next one sees.
func TestJoinKeepsNothing(t *testing.T) {
	f := inbox.Join(inbox.Header("a"), inbox.Literal("x:y"))
	for _, v := range []string{"1:2", "3"} {
		d := &headrace.Delivery{Metadata: map[string]string{"a": v}}
		if got, want := resolve(t, f, d), strings.ReplaceAll(v, ":", `\:`)+`:x\:y`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// a mistake dies at start-up and names itself.
func TestConstructorsPanic(t *testing.T) {
	for want, f := range map[string]func(){
		"inbox.First: no key functions":                          func() { inbox.First() },
		"inbox.First: key function 2 is nil":                     func() { inbox.First(value("a"), nil) },
		"inbox.Join: no key functions":                           func() { inbox.Join() },
		"inbox.Join: key function 1 is nil":                      func() { inbox.Join(nil) },
		"inbox.Literal: the literal is empty":                    func() { inbox.Literal("") },
		"inbox.Header: the name is empty":                        func() { inbox.Header("") },
		`inbox.JSON: the path [] is empty or has an empty name`:  func() { inbox.JSON() },
		`inbox.JSON: the path ["a."] is empty or has an empty n`: func() { inbox.JSON("a.") },
		`inbox.JSON: the path ["\xff"] is empty or has an empty`: func() { inbox.JSON("\xff") },
		`inbox.JSON: the path ["a.�"] is empty or has an empty `: func() { inbox.JSON("a.\ufffd") },
		"inbox.Fields: no paths":                                 func() { inbox.Fields() },
		`inbox.Fields: the path "a..b" is empty or has an empty`: func() { inbox.Fields("x", "a..b") },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
}
