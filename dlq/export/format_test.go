package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
)

var at = time.Date(2026, 3, 1, 2, 14, 7, 123456000, time.UTC)

// aLetter has a value in every field.
func aLetter(key string, payload []byte) *Letter {
	l := &Letter{
		Letter: dlq.Letter{
			LetterID: 17, State: dlq.Open, Class: dlq.Exhausted, Consumer: "billing", Handler: "orders", Strict: true,
			Delivery: headrace.Delivery{
				Scope: "billing/orders", Key: key, Fingerprint: "f", OrderKey: "o\u009b", ID: "m", Topic: "t", ReplyTopic: "r", Payload: payload,
				Metadata:    map[string]string{"a": "b", "\xff": "\xfe"},
				Coordinates: headrace.Coordinates{Broker: "kafka", Topic: "t", Partition: "1", Position: "2"}, Time: at,
				Trace: headrace.TraceContext{Parent: "p", State: "s"},
			},
			Error: "no <total> & more", Chain: []string{"one", "two"}, Stack: "main.f()\n", ErrorFingerprint: "7f3a91c0d25e4b18", FirstFingerprint: "ff",
			Attempts: 2, FirstFailure: at, LastFailure: at, CreatedAt: at, ChangedAt: at, PreviousID: 3, Redrives: 1, Deliveries: 1,
			Rev: 1, Edit: dlq.Content{Payload: []byte("edited"), Metadata: map[string]string{}}, Host: "h", Build: "b", Environment: "env",
		},
		Edits:     []dlq.Edit{{LetterID: 17, Rev: 1, By: "ann", Reason: "why", DBUser: "u", At: at}},
		Decisions: []dlq.Audit{{LetterID: 17, Action: "edit", By: "ann", Reason: "why", At: at}},
		Steps:     []Step{{"invoice", "erp", ledger.Failed}},
	}
	for n := range 2 {
		l.Runs = append(l.Runs, inbox.Attempt{
			ID: l.ID(), N: n + 1, Class: "transient", Error: "e", ErrorType: "*t", Duration: time.Second, Host: "h", Build: "b",
			Trace: headrace.TraceContext{Parent: "p", State: "s"}, At: at,
		})
	}
	return l
}

// file returns a whole file.
func file(t *testing.T, h Header, letters ...*Letter) string {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range letters {
		if err := w.Letter(l); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.End(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var header = Header{Database: "d", Schema: 1, Environment: "env", Consumer: "billing", At: at, By: "ann"}

// What is written is read again, byte for byte.
func TestFileComesBackWhole(t *testing.T) {
	for _, payload := range [][]byte{nil, {}, []byte("text\x00 \u2028 <b>"), {0xff, 0x00}} {
		want := []*Letter{aLetter("A", payload), aLetter("B", nil)}
		var got []*Letter
		end, err := Read(strings.NewReader(file(t, header, want...)), func(h Header) error {
			if h != header {
				t.Errorf("%+v", h)
			}
			return nil
		}, func(l *Letter, _ int) error { got = append(got, l); return nil })
		if err != nil || end.Count != 2 {
			t.Fatalf("%+v, %v", end, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("payload %q: %s", payload, diff)
		}
	}
}

// sealed returns lines with a last line that fits them.
func sealed(count int, lines ...string) string {
	text := strings.Join(lines, "\n") + "\n"
	return text + fmt.Sprintf(`{"v":1,"end":{"count":%d,"sha256":"%s"}}`, count, sum(text)) + "\n"
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// What is no whole export is refused, with the line.
func TestBadFiles(t *testing.T) {
	whole := file(t, header, aLetter("A", []byte("{}")), aLetter("B", []byte("{}")))
	lines := strings.Split(strings.TrimSuffix(whole, "\n"), "\n")
	redacted, other := header, aLetter("A", nil)
	redacted.Redacted, other.Consumer, other.Delivery.Scope = true, "shipping", "shipping/orders"
	letter := func(from, to string) string {
		changed := strings.Replace(lines[1], from, to, 1)
		if changed == lines[1] {
			t.Fatalf("%q is not in %s", from, lines[1])
		}
		return sealed(1, lines[0], changed)
	}
	for name, tc := range map[string]struct{ text, says string }{
		"empty":                   {"", "it is empty"},
		"no JSON":                 {"hello\n", "line 1: it is no line of an export"},
		"a binary":                {"\x7fELF\xff", "it is not UTF-8"},
		"other JSON":              {`{"v":1,"dead_letters":[]}` + "\n", "does not begin with the line of an export"},
		"no header":               {strings.Join(lines[1:], "\n"), "does not begin"},
		"header alone":            {lines[0] + "\n", "ends after line 1 without its last line"},
		"cut between lines":       {strings.Join(lines[:3], "\n") + "\n", "ends after line 3 without its last line: it was cut"},
		"cut in a letter":         {whole[:len(lines[0])+100], "line 2: it is no line of an export, or was cut"},
		"a letter is missing":     {strings.Join([]string{lines[0], lines[1], lines[3]}, "\n"), "it says 2 letters, and there are 1"},
		"a byte is changed":       {strings.Replace(whole, `"payload":"{}"`, `"payload":"[]"`, 1), "another SHA-256"},
		"letters are swapped":     {strings.Join([]string{lines[0], lines[2], lines[1], lines[3]}, "\n"), "another SHA-256"},
		"two files":               {whole + whole, "something follows the last line"},
		"redacted":                {file(t, redacted), "it is redacted"},
		"a newer version":         {strings.Replace(whole, `"v":1`, `"v":2`, 1), "version 2 of the format, and this headrace knows 1"},
		"a letter of a newer one": {letter(`"v":1`, `"v":7`), "line 2: it has version 7"},
		"no version":              {strings.Replace(whole, `"v":1,`, ``, 1), "no line of an export"},
		"another kind of line":    {sealed(0, lines[0], `{"v":1,"other":{}}`), "neither a letter nor the end"},
		"another consumer":        {file(t, header, other), `is one of consumer "shipping"`},
		"another scope":           {letter(`"scope":"billing/orders"`, `"scope":"billing2/orders"`), "scope is none of"},
		"a key with NUL":          {letter(`"key":"A"`, `"key":"A\u0000"`), "the key holds a NUL byte"},
		"a key with other bytes":  {letter(`"key":"A"`, "\"key\":\"A\xff\""), "it is not UTF-8"},
		"an order key with NUL":   {letter(`"order_key":"o`, `"order_key":"\u0000`), "the order key holds a NUL byte"},
		"a long key":              {letter(`"key":"A"`, `"key":"`+strings.Repeat("k", inbox.MaxKeyBytes+1)+`"`), "longer than 512 bytes"},
		"no key":                  {letter(`"key":"A"`, `"key":" "`), "it has no key"},
		"a number for a key":      {letter(`"key":"A"`, `"key":1`), "cannot unmarshal number"},
		"an unknown class":        {letter(`"class":"exhausted"`, `"class":"lost"`), `class "lost" is unknown`},
		"an unknown state":        {letter(`"state":"open"`, `"state":"shut"`), `state "shut" is unknown`},
		"a group with blanks":     {letter(`"error_fingerprint":"7f3a`, `"error_fingerprint":"; drop `), "is not 16 hexadecimal digits"},
		"too many attempts":       {letter(`"attempts":2`, `"attempts":2147483648`), "a number is out of range"},
		"a negative id":           {letter(`"id":17`, `"id":-17`), "a number is out of range"},
		"two payloads":            {letter(`"payload":`, `"payload_base64":"AA==","payload":`), "two payloads"},
		"broken base64":           {letter(`"payload":"{}"`, `"payload_base64":"A"`), "illegal base64"},
		"no headers":              {letter(`"headers":[`, `"heads":[`), "read metadata"},
		"runs with gaps":          {letter(`"n":2`, `"n":3`), "runs have gaps"},
		"an edit without content": {letter(`"edited":`, `"edit":`), "edits have no content"},
		"a long line":             {letter(`"error":"`, `"error":"`+strings.Repeat("x", 5000)), "line 2: it is longer than 4000 bytes"},
		"a line without an end":   {strings.Repeat("[", 100_000), "longer than 4000 bytes"},
	} {
		_, err := read(strings.NewReader(tc.text), 4000, func(Header) error { return nil }, func(*Letter, int) error { return nil })
		if !errors.Is(err, ErrFile) || !strings.Contains(fmt.Sprint(err), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
	if _, err := Read(strings.NewReader(strings.TrimSuffix(whole, "\n")), func(Header) error { return nil }, func(*Letter, int) error { return nil }); err != nil {
		t.Errorf("without its last byte, a line's end: %v", err)
	}
}

// Wherever a file is cut, or one byte of it is another, it is refused.
//
//evidence:export
func TestCutFiles(t *testing.T) {
	whole := file(t, header, aLetter("A", []byte{0xff}))
	refused := func(what string, n int, text string) {
		t.Helper()
		_, err := Read(strings.NewReader(text), func(Header) error { return nil }, func(*Letter, int) error { return nil })
		if !errors.Is(err, ErrFile) {
			t.Errorf("%s at byte %d of %d: %v", what, n, len(whole), err)
		}
	}
	for n := range len(whole) - 1 {
		refused("cut", n, whole[:n])
		text := []byte(whole)
		text[n] ^= 1
		refused("changed", n, string(text))
	}
}

// A letter that needs more than a line may have is an error, and no line.
func TestLetterIsTooLong(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, header)
	if err != nil {
		t.Fatal(err)
	}
	before := b.Len()
	w.most = 3000
	if err := w.Letter(aLetter("A", make([]byte, 3000))); err == nil || b.Len() != before {
		t.Errorf("%v, %d bytes written", err, b.Len()-before)
	}
	w, err = NewWriter(failing{}, header)
	if !errors.Is(err, io.ErrShortWrite) || w == nil {
		t.Errorf("a writer that fails: %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"v":1,"export":{}}`))
	f.Add([]byte(sealed(0, `{"v":1,"export":{"consumer":"c","schema":1}}`)))
	f.Add([]byte(sealed(1, `{"v":1,"export":{"consumer":"c"}}`, `{"v":1,"dead_letter":{"key":"k","scope":"c/h","consumer":"c","state":"open","class":"permanent","headers":{}}}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := read(bytes.NewReader(text), 1<<16, func(Header) error { return nil }, func(l *Letter, _ int) error {
			if l.Delivery.Key == "" || l.Delivery.Metadata == nil {
				t.Errorf("%+v", l)
			}
			return nil
		})
		if err != nil && !errors.Is(err, ErrFile) {
			t.Errorf("%v", err)
		}
	})
}
