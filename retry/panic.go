package retry

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxPanicText bounds how much of a panic's value Error shows.
const maxPanicText = 256

// ErrGoexit matches the failure of a handler that called runtime.Goexit, as testing's
// FailNow does.
var ErrGoexit = errors.New("handler called runtime.Goexit")

// PanicError is the error of an attempt that panicked. The runtime makes it.
//
// It does not unwrap to Value: panic(retry.Permanent(err)) is a panic, not a
// verdict.
type PanicError struct {
	// Value is what recover returned.
	Value any
	// Stack is the stack of the goroutine that panicked, as debug.Stack gives it.
	Stack []byte
}

// Error shows a value that is an error, a string, a number or a bool, cut at 256
// bytes, and only the type of any other: such a value may be huge, or hold a
// payload.
func (e *PanicError) Error() string { return "panic: " + describe(e.Value) }

func describe(value any) (text string) {
	defer func() {
		if recover() != nil { // the value's own Error method
			text = fmt.Sprintf("value of type %T", value)
		}
	}()
	switch v := value.(type) {
	case error:
		return cut(v.Error())
	case string:
		return cut(v)
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, uintptr, float32, float64:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("value of type %T", value)
}

func cut(s string) string {
	if len(s) <= maxPanicText {
		return s
	}
	n := maxPanicText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " […]"
}
