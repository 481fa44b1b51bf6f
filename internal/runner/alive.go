package runner

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/retry"
)

// Alive calls f, and fatal if f has ended its goroutine (runtime.Goexit): nothing else would
// tell that what the goroutine did is not done any more.
func Alive(f func(), fatal func(error)) {
	returned := false
	defer func() {
		if !returned {
			fatal(fmt.Errorf("in a codec, a key function or Config.Redact: %w", retry.ErrGoexit))
		}
	}()
	f()
	returned = true
}

// Probe calls the methods of err, an error of a user's function, that other code calls later,
// without a recover: to describe it and to decide on it. It returns the panic of one, as of
// a nil pointer in an error, or says that err wraps itself. Where a method calls
// runtime.Goexit, Probe does not return: that ends the user's goroutine, and not one of ours.
func Probe(err error) *attempt.Panic {
	if err == nil {
		return nil
	}
	p, _ := attempt.Catch(func() error {
		links, whole := encode.Chain(err, maxLinks)
		if !whole { // errors.Is would not end, or panic
			panic(fmt.Sprintf("an error of type %T wraps itself, or its Unwrap panics", err))
		}
		for _, link := range links {
			_ = link.Error()
			_ = encode.Code(link)
		}
		_ = errors.Is(err, errUnused) || errors.As(err, new(unused))
		return nil
	})
	return p
}

// maxLinks is how many errors one error may wrap.
const maxLinks = 10_000

// unused is an error that no code returns.
type unused struct{ error }

var errUnused = unused{errors.New("unused")}
