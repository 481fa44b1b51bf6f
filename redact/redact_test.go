package redact

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

func TestPayload(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a name", `{"email": "ann@example.org", "total":1.50}`, `{"email": "[redacted]", "total":1.50}`},
		{"anywhere", `[{"a":[[{"customerEmail":"x"}]]}]`, `[{"a":[[{"customerEmail":"[redacted]"}]]}]`},
		{"all of an object", `{"tokens":{"a":["}",{"b":1}]},"c":2}`, `{"tokens":"[redacted]","c":2}`},
		{"all of an array", `{"emails":["a","b"]}`, `{"emails":"[redacted]"}`},
		{"a number, a bool", `{"cvc":123,"api-key":true}`, `{"cvc":"[redacted]","api-key":"[redacted]"}`},
		{"what is missing", `{"email":null,"password":"","cookie":"x"}`, `{"email":null,"password":"","cookie":"[redacted]"}`},
		{"an escaped name", `{"\u0065mail":"x"}`, `{"\u0065mail":"[redacted]"}`},
		{"names are whole", `{"cvcx":1,"authorizations":2,"mail":3}`, `{"cvcx":1,"authorizations":2,"mail":3}`},
		{"a name as a value", `{"a":"email","b":["password", "c"]}`, `{"a":"email","b":["password", "c"]}`},
		{"a JWT", `{"a":"b ` + token + ` <c>"}`, `{"a":"b [redacted] <c>"}`},
		{"a card", `{"a":"4111 1111 1111 1111","b":5500000000000004,"c":[-378282246310005]}`, `{"a":"[redacted]","b":"[redacted]","c":["[redacted]"]}`},
		{"an AWS key", `{"a":"AKIAIOSFODNN7EXAMPLE"}`, `{"a":"[redacted]"}`},
		{"a URL", `{"a":"postgres://u:p@ss@h/d?x=1@2"}`, `{"a":"postgres://[redacted]@h/d?x=1@2"}`},
		{"a query", `{"a":"https://h/p?x=1&access_token=abc&y=2"}`, `{"a":"https://h/p?x=1&access_token=[redacted]&y=2"}`},
		{"a secret as a name", `{"` + token + `":1}`, `{"[redacted]":1}`},
		{"JSON in a string", `{"body":"{\"email\":\"a\",\"n\":[1]}"}`, `{"body":"{\"email\":\"[redacted]\",\"n\":[1]}"}`},
		{"lines of JSON", "{\"email\":\"a\"}\n{\"b\":1}\n{\"email\":\"c\"}\n", "{\"email\":\"[redacted]\"}\n{\"b\":1}\n{\"email\":\"[redacted]\"}\n"},
		{"broken: cut", `{"a":1,"password":"abc`, `{"a":1,"password":"[redacted]"`},
		{"broken: cut in an object", `{"secret":{"a":"b","c":`, `{"secret":"[redacted]"`},
		{"broken: no value", `{"email":"a","total":}`, `{"email":"[redacted]","total":}`},
		{"broken: no comma", `{"a":"b" "email":"c" }`, `{"a":"b" "email":"[redacted]" }`},
		{"broken: too many brackets", `]}]{"email":"a"}`, `]}]{"email":"[redacted]"}`},
		{"a form", `a=1&email=ann%40x&user%5Bpassword%5D=c&d=4111111111111111`, `a=1&email=[redacted]&user%5Bpassword%5D=[redacted]&d=[redacted]`},
		{"a connection string", `host=h password="a b" user=c`, `host=h password=[redacted] user=c`},
		{"text", "the card 4111-1111-1111-1111 was refused\n", "the card [redacted] was refused\n"},
		{"bytes", "\x00\xff" + token + "\xfe", "\x00\xff[redacted]\xfe"},
		{"nothing", `{"id": "order-1", "at":1764108000000000}`, `{"id": "order-1", "at":1764108000000000}`},
		{"empty", ``, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in)
			if diff := cmp.Diff(c.want, string(New().Payload(in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if string(in) != c.in {
				t.Error("the payload itself was changed")
			}
		})
	}
}

func TestCards(t *testing.T) {
	for in, want := range map[string]string{
		"4242424242424242": Mark, "2223 0031 2200 3222": Mark, "378282246310005": Mark, "3782 822463 10005": Mark, "30569309025904": Mark,
		"6011111111111117": Mark, "3530111333300000": Mark, "6200000000000005": Mark, "4222222222222": Mark,
		"2027-01-02 4111 1111 1111 1111 7": "2027-01-02 " + Mark + " 7", "a4111111111111111b": "a" + Mark + "b",
		"4111111111111112":  "4111111111111112",                                                  // Luhn
		"1764108000000008":  "1764108000000008",                                                  // no issuer
		"411111111111111":   "411111111111111",                                                   // too short
		"04111111111111111": "04111111111111111", "41111111111111110000": "41111111111111110000", // part of a longer number
		"4111 1111-1111 1111": "4111 1111-1111 1111", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1": "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
		"4111  1111 1111 1111": "4111  1111 1111 1111",
	} {
		if got := New().Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestHeaders(t *testing.T) {
	in := map[string]string{
		"Authorization": "Bearer x", "cookie": "a=b", "X-Auth-Token": "x", "client_secret": "x", "Partition-Key": "x", "X-Empty-Key": "",
		"content-type": "application/json", "x-envelope": `{"email":"a"}`, "authorization-hint": "basic", "x-url": "amqp://u:p@h",
	}
	want := map[string]string{
		"Authorization": Mark, "cookie": Mark, "X-Auth-Token": Mark, "client_secret": Mark, "Partition-Key": Mark, "X-Empty-Key": "",
		"content-type": "application/json", "x-envelope": `{"email":"[redacted]"}`, "authorization-hint": "basic", "x-url": "amqp://" + Mark + "@h",
	}
	if diff := cmp.Diff(want, New().Headers(in)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if in["cookie"] != "a=b" || New().Headers(nil) != nil {
		t.Error("the headers themselves were changed, or made up")
	}
}

func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rules")
	text := "# ours\n\npath customer.*name\npath *.bank.account\r\nheader  x-customer-*\nvalue\t\\bDE\\d{20}\\b\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	in := `{"customer":{"LastName":"a","names":"b"},"name":"c","y":{"customer":{"LastName":"a"}},"x":[{"bank":[{"account":1}]}],"iban":"DE89370400440532013000","email":"d"}`
	want := `{"customer":{"LastName":"[redacted]","names":"b"},"name":"c","y":{"customer":{"LastName":"a"}},"x":[{"bank":[{"account":"[redacted]"}]}],"iban":"[redacted]","email":"[redacted]"}`
	if diff := cmp.Diff(want, string(r.Payload([]byte(in)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := r.Header("X-Customer-Id", "7") + r.Header("cookie", "b") + r.Header("x-custom", "7"); got != Mark+Mark+"7" {
		t.Error(got)
	}
	for text, where := range map[string]string{
		"path": ":1: ", "\n\npath a..b": ":3: ", "path *.": ":1: ", "nonsense x": ":1: ", "# c\nvalue (": ":2: ", "value a*": ":1: ",
		strings.Repeat("header x\n", maxRules+1): ":1001: ", strings.Repeat(" ", maxFile+1): " has more than ",
	} {
		if _, err := Parse("f", []byte(text)); err == nil || !strings.Contains(err.Error(), "f"+where) {
			t.Errorf("%.20q: %v, want %q", text, err, where)
		}
	}
	if _, err := Load(name + "-"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// The time for a payload that is made to be slow is about that for another of its size.
func TestHostileSizes(t *testing.T) {
	const size = 1 << 19
	for name, unit := range map[string]string{
		"open": "[", "names": `"a":`, "cards": "4111 ", "quotes": `"`, "escapes": `\"`, "equals": "a=", "tokens": "eyJaaaaa", "URLs": "a://", "strings in strings": `{"a":"`,
	} {
		in := []byte(strings.Repeat(unit, size/len(unit)))
		if out := New().Payload(in); len(out) > 4*size {
			t.Errorf("%s: %d bytes of %d", name, len(out), len(in))
		}
	}
}

func FuzzPayload(f *testing.F) {
	for _, seed := range []string{
		`{"email":"a","b":[1,{"token":{"c":"d"}}],"e":"{\"cookie\":1}"}`, `{"a":"` + token + `","b":4111111111111111,"c":-4111111111111111}`,
		`{"a":1,"password":"abc`, "]}\"\\", `"4111 1111 1111 1111"`, "a=1&secret=2", `{"a":"\ud800 AKIAIOSFODNN7EXAMPLE"}`, "5e300", "{\"a\\u0000://b@\":1}",
	} {
		f.Add([]byte(seed), seed)
	}
	rules, err := Parse("more", []byte("value [0-9]{4}\npath a.b\npath *.c.*"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, payload []byte, secret string) {
		for _, r := range []*Rules{New(), rules} {
			out := r.Payload(payload)
			if json.Valid(payload) {
				if !json.Valid(out) {
					t.Fatalf("%q became %q", payload, out)
				}
				same(t, decode(t, payload), decode(t, out))
			}
			_ = r.Headers(map[string]string{secret: string(payload)})
		}
		hidden, err := json.Marshal(map[string]any{"n": []any{map[string]any{"Pass_Word": secret}}})
		if err != nil {
			t.Fatal(err)
		}
		if out := New().Payload(hidden); secret != "" && string(out) != `{"n":[{"Pass_Word":"[redacted]"}]}` {
			t.Fatalf("%q became %q", hidden, out)
		}
		_, _ = Parse("f", payload)
	})
}

func decode(t *testing.T, b []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// same fails unless b is a, but for what is marked in it.
func same(t *testing.T, a, b any) {
	t.Helper()
	if text, ok := b.(string); ok && strings.Contains(text, Mark) {
		return
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			t.Fatalf("%v became %v", a, b)
		}
		for name := range b {
			if strings.Contains(name, Mark) {
				return
			}
		}
		for name := range a {
			same(t, a[name], b[name])
		}
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			t.Fatalf("%v became %v", a, b)
		}
		for i := range a {
			same(t, a[i], b[i])
		}
	default:
		if a != b {
			t.Fatalf("%v became %v", a, b)
		}
	}
}

func BenchmarkPayload(b *testing.B) {
	one := `{"id":"order-1049212","customer":{"name":"Ann","email":"ann@example.org","address":{"street":"x 1","zip":"12345"}},"items":[{"sku":"a-1","n":3,"price":1250}],"url":"https://example.org/o/1","note":"nothing to see here"}`
	payload := []byte("[" + strings.Repeat(one+",", 300) + one + "]")
	r := New()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		r.Payload(payload)
	}
}
