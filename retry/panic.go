package retry

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/encode"
)

// maxPanicText bounds how much of a panic's value Error shows.
const maxPanicText = 256

// ErrGoexit matches the failure of a handler that called runtime.Goexit, as testing's
// FailNow does.
var ErrGoexit = errors.New("handler called runtime.Goexit")

// PanicError is the error of an attempt that panicked. The framework makes it.
//
// It does not unwrap to Value: panic(retry.Permanent(err)) is a panic, not a permanent
// failure.
type PanicError struct {
	// Value is the result of recover.
	Value any
	// Stack is the stack of the goroutine that panicked, from debug.Stack.
	Stack []byte
}

// Error shows a value that is an error, a string, a number or a bool, cut at 256 bytes,
// and only the type of any other: such a value may be huge, or contain a payload.
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
	if short := encode.Cut(s, maxPanicText); short != s {
		return short + " […]"
	}
	return s
}
