package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace/retry"
)

func TestClassify(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want retry.Class
	}{
		"nil":                          {nil, ""},
		"any":                          {io.EOF, retry.Transient},
		"cancelled":                    {context.Canceled, retry.Transient},
		"deadline":                     {fmt.Errorf("call: %w", context.DeadlineExceeded), retry.Timeout},
		"i/o deadline":                 {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, retry.Timeout},
		"panic":                        {fmt.Errorf("a: %w", &retry.PanicError{Value: 1}), retry.Panic},
		"panic with a deadline":        {&retry.PanicError{Value: context.DeadlineExceeded}, retry.Panic},
		"panic with a permanent error": {&retry.PanicError{Value: retry.Permanent(io.EOF)}, retry.Panic},
		"permanent":                    {fmt.Errorf("a: %w", retry.Permanent(io.EOF)), retry.PermanentFailure},
		"permanent deadline":           {retry.Permanent(context.DeadlineExceeded), retry.PermanentFailure},
		"permanent panic":              {retry.Permanent(&retry.PanicError{}), retry.PermanentFailure},
		"after":                        {retry.After(time.Second, io.EOF), retry.Transient},
		"after a deadline":             {retry.After(time.Second, context.DeadlineExceeded), retry.Timeout},
		"joined, permanent later":      {errors.Join(io.EOF, retry.Permanent(io.EOF)), retry.PermanentFailure},
	} {
		if got := retry.Classify(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestPermanentAndAfter(t *testing.T) {
	if retry.Permanent(nil) != nil || retry.After(time.Second, nil) != nil {
		t.Error("nil became an error")
	}
	if err := retry.Permanent(io.EOF); !errors.Is(err, io.EOF) || err.Error() != "EOF" || !retry.IsPermanent(err) {
		t.Errorf("permanent: %v", err)
	}
	if err := retry.After(time.Minute, io.EOF); !errors.Is(err, io.EOF) || err.Error() != "EOF (again after 1m0s)" {
		t.Errorf("after: %v", err)
	}
	if err := retry.After(math.MaxInt64, io.EOF); err.Error() != "EOF (again after 720h0m0s)" {
		t.Errorf("after: %v", err)
	}
	if retry.IsPermanent(nil) || retry.IsPermanent(io.EOF) {
		t.Error("everything is permanent")
	}
}

// broken panics when it is asked what it says.
type broken struct{}

func (broken) Error() string { panic("again") }

// INVARIANT 20: a panic's value may be a payload.
func TestPanicError(t *testing.T) {
	type order struct{ Card string }
	var nilMap error
	func() {
		defer func() { nilMap, _ = recover().(error) }()
		func(m map[string]int) { m["a"] = 1 }(nil)
	}()
	for want, value := range map[string]any{
		"panic: EOF":                                   io.EOF,
		"panic: text":                                  "text",
		"panic: 42":                                    42,
		"panic: true":                                  true,
		"panic: value of type <nil>":                   nil,
		"panic: value of type retry_test.order":        order{"secret"},
		"panic: value of type *retry_test.order":       &order{"secret"},
		"panic: value of type []uint8":                 []byte("secret"),
		"panic: value of type map[string]string":       map[string]string{"secret": "secret"},
		"panic: value of type retry_test.broken":       broken{},
		"panic: assignment to entry in nil map":        nilMap,
		"panic: " + strings.Repeat("x", 256) + " […]":  strings.Repeat("x", 1<<20),
		"panic: " + strings.Repeat("é", 128) + " […]":  strings.Repeat("é", 1<<10),
		"panic: x" + strings.Repeat("é", 127) + " […]": "x" + strings.Repeat("é", 1<<10),
	} {
		got := (&retry.PanicError{Value: value}).Error()
		if got != want || !utf8.ValidString(got) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

//evidence:postpone
func TestPostpone(t *testing.T) {
	if retry.Postpone(time.Second, nil) != nil || retry.PostponeWithin(time.Second, time.Second, nil) != nil {
		t.Error("nil became an error")
	}
	err := fmt.Errorf("call: %w", retry.Postpone(time.Minute, io.EOF))
	if !errors.Is(err, io.EOF) || err.Error() != "call: EOF (postponed for 1m0s)" {
		t.Errorf("%v", err)
	}
	for name, c := range map[string]struct {
		err          error
		delay, bound time.Duration
		ok           bool
	}{
		"nil":       {},
		"none":      {err: io.EOF},
		"zero":      {retry.Postpone(0, io.EOF), 0, 0, true},
		"longest":   {retry.PostponeWithin(retry.MaxDelay, retry.MaxDelay+1, io.EOF), retry.MaxDelay, retry.MaxDelay + 1, true},
		"joined":    {errors.Join(io.EOF, retry.Postpone(time.Minute, io.EOF)), time.Minute, 0, true},
		"permanent": {retry.Permanent(retry.Postpone(time.Minute, io.EOF)), time.Minute, 0, true},
		"after":     {retry.After(time.Hour, retry.Postpone(time.Minute, io.EOF)), time.Minute, 0, true},
		"panic":     {err: &retry.PanicError{Value: retry.Postpone(time.Minute, io.EOF)}},
		"wrapped":   {err, time.Minute, 0, true},
		"bounded":   {retry.PostponeWithin(time.Second, time.Hour, io.EOF), time.Second, time.Hour, true},
		"negative":  {retry.PostponeWithin(-time.Second, -time.Hour, io.EOF), 0, 0, true},
		"too long":  {retry.Postpone(math.MaxInt64, io.EOF), retry.MaxDelay, 0, true},
		"outermost": {retry.Postpone(time.Second, retry.Postpone(time.Hour, io.EOF)), time.Second, 0, true},
	} {
		if delay, bound, ok := retry.Postponed(c.err); delay != c.delay || bound != c.bound || ok != c.ok {
			t.Errorf("%s: %s, %s, %t", name, delay, bound, ok)
		}
	}
}
