package chain

import (
	"runtime"
	"strings"
	"sync"
)

// depth bounds how much of a stack is looked at, from its innermost call.
const depth = 128

// Callers returns the known middlewares that are on the stack of the caller's caller,
// innermost first, up to the function whose name begins with until; "" means all.
func Callers(until string) []string {
	var calls [depth]uintptr
	return namesOf(calls[:runtime.Callers(3, calls[:])], until)
}

func namesOf(calls []uintptr, until string) (names []string) {
	frames := runtime.CallersFrames(calls)
	for {
		frame, more := frames.Next()
		if until != "" && strings.HasPrefix(frame.Function, until) {
			return names
		}
		if name := known(frame.Function, frame.File); name != "" {
			names = append(names, name)
		}
		if !more {
			return names
		}
	}
}

// Paths tells stacks that were seen before from new ones, which costs about a tenth of
// finding the names. The zero value works; it is safe for concurrent use.
type Paths struct {
	mu   sync.RWMutex
	seen map[uint64]struct{}
}

// remembered bounds the stacks that are; others are looked at each time.
const remembered = 1024

// Callers is the function Callers for a stack that was not seen before; nil for any other.
func (p *Paths) Callers(until string) []string {
	var calls [depth]uintptr
	n := runtime.Callers(3, calls[:])
	sum := uint64(14695981039346656037) // FNV-1a, by words
	for _, call := range calls[:n] {
		sum = (sum ^ uint64(call)) * 1099511628211
	}
	p.mu.RLock()
	_, seen := p.seen[sum]
	p.mu.RUnlock()
	if seen {
		return nil
	}
	names := namesOf(calls[:n], until)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = make(map[uint64]struct{})
	}
	if len(p.seen) < remembered {
		p.seen[sum] = struct{}{}
	}
	return names
}
