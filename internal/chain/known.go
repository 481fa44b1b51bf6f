package chain

import (
	"path"
	"reflect"
	"runtime"
	"strings"
)

// Names of middlewares that Known knows. Those of Watermill are called as it calls them.
const (
	CircuitBreaker = "CircuitBreaker"
	Deduplicator   = "Deduplicator"
	Duplicator     = "Duplicator"
	IgnoreErrors   = "IgnoreErrors"
	InstantAck     = "InstantAck"
	PoisonQueue    = "PoisonQueue"
	WatermillRetry = "Retry"
	Ours           = "inbox.Middleware, retry.Middleware or dlq.Middleware of headrace"
)

// watermills is the directory of Watermill's middlewares, in its module.
const watermills = "/message/router/middleware"

// files are where the middlewares are written.
var files = map[string]string{
	"circuit_breaker.go": CircuitBreaker,
	"deduplicator.go":    Deduplicator,
	"duplicator.go":      Duplicator,
	"ignore_errors.go":   IgnoreErrors,
	"instant_ack.go":     InstantAck,
	"poison.go":          PoisonQueue,
	"retry.go":           WatermillRetry,
}

// functions are the beginnings of their functions' names, without the parentheses of
// pointer receivers: a method value has a name, but no file.
var functions = map[string]string{
	"CircuitBreaker.": CircuitBreaker,
	"Deduplicator.":   Deduplicator,
	"Duplicator":      Duplicator,
	"IgnoreErrors.":   IgnoreErrors,
	"InstantAck":      InstantAck,
	"poisonQueue.":    PoisonQueue,
	"Retry.":          WatermillRetry,
}

// known returns the name of the middleware that a function belongs to; "" where it is
// none of those. A closure that the compiler has moved into another package with the
// function around it is known by its file, and ours by the end of its name.
func known(function, file string) string {
	const ours, frame = "github.com/headrace/headrace/", "Frame.Middleware."
	const theirs = "github.com/ThreeDotsLabs/watermill" + watermills + "."
	if strings.HasPrefix(function, ours) && strings.Contains(function, frame) {
		return Ours
	}
	if name, ok := strings.CutPrefix(function, theirs); ok {
		name = strings.NewReplacer("(*", "", ")", "").Replace(name)
		for prefix, middleware := range functions {
			if strings.HasPrefix(name, prefix) {
				return middleware
			}
		}
	}
	dir, base := path.Split(file)
	if dir = strings.TrimSuffix(dir, "/"); strings.HasSuffix(dir, watermills) && strings.Contains(dir, "/watermill") {
		return files[base]
	}
	return ""
}

// Known returns the name of the middleware that f, a function, is or belongs to; "" for
// any other.
func Known(f any) string { return KnownCode(Code(f)) }

// KnownCode is Known of a function by its Code.
func KnownCode(code uintptr) string {
	f := runtime.FuncForPC(code)
	file, _ := f.FileLine(code)
	return known(f.Name(), file)
}

// Name returns the name of the function f.
func Name(f any) string { return runtime.FuncForPC(Code(f)).Name() }

// Code is where the code of the function f begins; closures of one place share it.
func Code(f any) uintptr { return reflect.ValueOf(f).Pointer() }
