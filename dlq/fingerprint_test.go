package dlq_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/dlq"
)

type declined struct{ by string }

func (d *declined) Error() string { return "declined by " + d.by }

func fingerprint(err error, stack []byte) string { return dlq.Describe(err, stack, nil).Fingerprint }

func TestFingerprintGroups(t *testing.T) {
	same := map[string][]error{
		"numbers":     {errors.New("order 17: total is -3.50"), errors.New("order 9123: total is 1")},
		"uuids":       {errors.New("no customer 5b8f7c1e-4f0e-4c53-9a55-3b1f1b6d1c0a"), errors.New("no customer 00000000-aaaa-bbbb-cccc-deadbeefdead")},
		"hex":         {errors.New("hash deadbeefcafe differs"), errors.New("hash 123456789012 differs")},
		"short ids":   {errors.New("ord_8fj39d is locked"), errors.New("x-AB-77 is locked")},
		"quotes":      {errors.New(`invalid character "é" in 'a b'`), errors.New(`invalid character "\"" in ''`)},
		"open quotes": {errors.New(`bad body: "` + strings.Repeat("a", 5000)), errors.New(`bad body: "b`)},
		"addresses":   {errors.New("mail to ann@example.com bounced"), errors.New("mail to bob.x@mail.example.org bounced")},
		"times":       {errors.New("expired at 2026-01-02T15:04:05Z"), errors.New("expired at 2025-11-12 01:00:00.25")},
		"durations":   {errors.New("gave up after 1m30s"), errors.New("gave up after 2.5s")},
		"hosts":       {errors.New("dial tcp 10.0.0.1:5432: refused"), errors.New("dial tcp 192.168.1.20:80: refused")},
		"lists":       {errors.New("missing [1, 2, 3]"), errors.New("missing [7]")},
		"wrapped":     {fmt.Errorf("charge 1: %w", &declined{"bank"}), fmt.Errorf("charge 2: %w", &declined{"bank"})},
		"apostrophes": {errors.New("can't bill, won't bill 1"), errors.New("can't bill, won't bill 2")},
		"drivers' words": {
			fmt.Errorf("insert: %w", &pq.Error{Code: "23505", Message: "duplicate key"}),
			fmt.Errorf("insert: %w", &pq.Error{Code: "23505", Message: "doppelter Schlüsselwert »k«"}),
		},
	}
	prints := make(map[string]string)
	for name, errs := range same {
		a, b := fingerprint(errs[0], nil), fingerprint(errs[1], nil)
		if a != b {
			t.Errorf("%s: %q and %q are in different groups", name, errs[0], errs[1])
		}
		if other, taken := prints[a]; taken {
			t.Errorf("%s and %s are in one group", name, other)
		}
		prints[a] = name
	}
}

func TestFingerprintSeparates(t *testing.T) {
	apart := [][2]error{
		{errors.New("no stock"), errors.New("no customer")},
		{errors.New("no stock"), &declined{"no stock"}},
		{&pq.Error{Code: "23505"}, &pq.Error{Code: "23503"}},
		{fmt.Errorf("insert invoice: %w", &pgconn.PgError{Code: "23505"}), fmt.Errorf("insert payment: %w", &pgconn.PgError{Code: "23505"})},
		{context.Canceled, context.DeadlineExceeded},
	}
	for _, pair := range apart {
		if fingerprint(pair[0], nil) == fingerprint(pair[1], nil) {
			t.Errorf("%q and %q are in one group", pair[0], pair[1])
		}
	}
}

// A fingerprint that moved would split every group at the next deploy.
func TestFingerprintIsStable(t *testing.T) {
	err := fmt.Errorf("charge 4711: %w", &declined{"bank"})
	if got, want := fingerprint(err, nil), "c22faae52c5c1351"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := fingerprint(nil, nil); got != "" {
		t.Errorf("nil: %q", got)
	}
}

//go:noinline
func panicky(a []int, i int) int { return a[i] }

//go:noinline
func panickyToo(a []int, i int) int { return a[i] }

func recovered(f func()) (stack []byte, err error) {
	defer func() { stack, err = debug.Stack(), recover().(error) }()
	f()
	return nil, nil
}

func TestFingerprintOfPanics(t *testing.T) {
	stack, err := recovered(func() { panicky(nil, 3) })
	deeper, again := recovered(func() { func() { panicky([]int{1}, 7) }() })
	elsewhere, other := recovered(func() { panickyToo(nil, 3) })
	if !strings.Contains(string(stack), "panicky(") {
		t.Fatalf("inlined away: %s", stack)
	}
	if fingerprint(err, stack) != fingerprint(again, deeper) {
		t.Error("one function, two groups")
	}
	if fingerprint(err, stack) == fingerprint(other, elsewhere) {
		t.Error("two functions, one group")
	}
	moved := strings.ReplaceAll(string(stack), "_test.go:", "_test.go:9")
	if fingerprint(err, stack) != fingerprint(err, []byte(moved)) {
		t.Error("line numbers change the group")
	}
}

func TestChain(t *testing.T) {
	path := &fs.PathError{Op: "open", Path: "f", Err: fs.ErrNotExist}
	got := dlq.Describe(fmt.Errorf("read: %w", errors.Join(path, &declined{"bank"})), nil, nil).Chain
	want := []string{
		"*fmt.wrapError: read: open f: file does not exist\ndeclined by bank",
		"*errors.joinError: open f: file does not exist\ndeclined by bank",
		"*fs.PathError: open f: file does not exist",
		"*errors.errorString: file does not exist",
		"*dlq_test.declined: declined by bank",
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

type ring struct{}

func (r ring) Error() string   { return "ring" }
func (r ring) Unwrap() []error { return []error{r, r} }

// Errors come from handlers: Describe must survive all of them.
func TestDescribeIsTotal(t *testing.T) {
	var null *declined
	var deep error = errors.New("bottom")
	for range 100 {
		deep = fmt.Errorf("x: %w", deep)
	}
	for name, err := range map[string]error{
		"ring": ring{}, "nil pointer": null, "deep": deep, "wrapped nil pointer": fmt.Errorf("a: %w", null),
		"long": errors.New(strings.Repeat("é\x00\xff", 1<<16)), "empty": errors.New(""),
	} {
		f := dlq.Describe(err, nil, nil)
		if f.Type == "" || len(f.Fingerprint) != 16 || len(f.Chain) == 0 || len(f.Chain) > 16 || len(f.Error) > 4096 {
			t.Errorf("%s: %+v", name, f)
		}
		for _, text := range append(f.Chain, f.Error, f.Type) {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Errorf("%s: %q fits no text column", name, text)
			}
		}
	}
	if f := dlq.Describe(nil, nil, nil); f.Fingerprint != "" || f.Chain != nil {
		t.Errorf("nil: %+v", f)
	}
	rapid.Check(t, func(t *rapid.T) {
		dlq.Describe(errors.New(string(rapid.SliceOf(rapid.Byte()).Draw(t, "message"))), rapid.SliceOf(rapid.Byte()).Draw(t, "stack"), nil)
	})
}

func TestTypeSaysWhatWentWrong(t *testing.T) {
	for want, err := range map[string]error{
		"*dlq_test.declined":  fmt.Errorf("a: %w", fmt.Errorf("b: %w", &declined{"x"})),
		"*fs.PathError":       &fs.PathError{Err: errors.New("plain")},
		"*errors.errorString": errors.New("plain"),
		"*pq.Error":           fmt.Errorf("insert: %w", &pq.Error{Code: "23505"}),
	} {
		if got := dlq.Describe(err, nil, nil).Type; got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

func TestCapStack(t *testing.T) {
	line := "main.f(...)\n\t/src/f.go:1 +0x1\n"
	got := dlq.CapStack([]byte(strings.Repeat(line, 2000)))
	if len(got) > 16<<10 || !strings.HasPrefix(got, line) || !strings.Contains(got, "bytes more]") {
		t.Errorf("%d bytes, ends %q", len(got), got[len(got)-60:])
	}
	if dlq.CapStack(nil) != "" || dlq.CapStack([]byte("a\x00")) != `a\x00` {
		t.Error("short stacks are kept")
	}
}
