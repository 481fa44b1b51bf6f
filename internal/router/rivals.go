package router

import (
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// rivals are Watermill's middlewares that must not run within an attempt, and why. A
// method value has a name, but no file: function is how the names of their functions
// begin, without the parentheses of pointer receivers.
var rivals = []struct{ name, function, file, reason string }{
	{"Deduplicator", "Deduplicator.", "deduplicator.go", "it marks a message before its handler has run, so that one which failed is taken for a duplicate and lost"},
	{"Retry", "Retry.", "retry.go", "Config.Retry decides what is run again, and remembers it"},
	{"PoisonQueue", "poisonQueue.", "poison.go", "dead letters are kept in the database, and Config.DeadLetterTopic names the topic for copies"},
	{"CircuitBreaker", "CircuitBreaker.", "circuit_breaker.go", "while it is open, each attempt fails; the source is not read while the database is away"},
	{"InstantAck", "InstantAck", "instant_ack.go", "it acknowledges before anything is kept"},
	{"IgnoreErrors", "IgnoreErrors.", "ignore_errors.go", "it hides the failure of an attempt, whose writes would be kept"},
	{"Duplicator", "Duplicator", "duplicator.go", "it runs each attempt twice in one transaction"},
}

// rivalOf returns the name of the rival that f, a function, is or belongs to, and why it
// must not run; "" for any other. A closure that the compiler has moved into another
// package with the function around it is known by its file.
func rivalOf(f any) (name, reason string) {
	const module, dir = "github.com/ThreeDotsLabs/watermill", "/message/router/middleware"
	code := runtime.FuncForPC(codeOf(f))
	function, ours := strings.CutPrefix(code.Name(), module+dir+".")
	function = strings.NewReplacer("(*", "", ")", "").Replace(function)
	file, _ := code.FileLine(code.Entry())
	in := path.Dir(file)
	moved := strings.HasSuffix(in, dir) && strings.Contains(in, "/watermill")
	for _, r := range rivals {
		if ours && strings.HasPrefix(function, r.function) || moved && path.Base(file) == r.file {
			return r.name, r.reason
		}
	}
	return "", ""
}

// nameOf returns the name of the function f.
func nameOf(f any) string { return runtime.FuncForPC(codeOf(f)).Name() }

// codeOf is where the code of the function f begins. Closures of one place share it.
func codeOf(f any) uintptr { return reflect.ValueOf(f).Pointer() }

// checkRival rejects f, a middleware or its result, if it is a rival.
func checkRival(f any) error {
	if name, reason := rivalOf(f); name != "" {
		return fmt.Errorf("%w: remove the middleware %s from around the handler: %s", headrace.ErrOrder, name, reason)
	}
	return nil
}

// wrap returns f with the middlewares around it, the first one outermost.
func wrap(f message.HandlerFunc, inside []message.HandlerMiddleware) (message.HandlerFunc, error) {
	for i := len(inside) - 1; i >= 0; i-- {
		if inside[i] == nil {
			return nil, fmt.Errorf("middleware #%d for the inside is nil", i)
		}
		if err := checkRival(inside[i]); err != nil {
			return nil, err
		}
		f = inside[i](f)
		if err := checkRival(f); err != nil { // a function may have hidden it
			return nil, err
		}
	}
	return f, nil
}

// checkPlace returns an error if next, which a Router wants us to call, is not one of its
// handlers.
//
// Rule: a message from the backlog runs without the Router. A middleware between us and
// the handler would see deliveries only, and never a retry.
func (a *Attachment) checkPlace(next message.HandlerFunc) error {
	for _, h := range a.handlers {
		if codeOf(h.raw) == codeOf(next) {
			return nil
		}
	}
	return fmt.Errorf("%w: a middleware was added while the Router started (%s): add it before Router.Run, or give it to consumer.Attach as inside",
		headrace.ErrOrder, nameOf(next))
}
