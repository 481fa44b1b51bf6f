package crashguard

import (
	"fmt"
	"reflect"
	"slices"
)

// running is a consumer that runs in a process.
type running struct {
	store          any
	name, handlers string
}

// Begin records that a consumer runs; end forgets it. handlers names all of its handlers. It
// returns an error if a consumer of that name runs on the same store with other handlers:
// what belongs to those of one would wait at the other. With the same handlers the two are
// as two processes are.
func (p *Process) Begin(store any, name, handlers string) (end func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.consumers {
		if other.name == name && other.handlers != handlers && reflect.ValueOf(store).Comparable() && other.store == store {
			return nil, fmt.Errorf("another consumer of this name runs in this process on the same store, with the handlers %s, and this one has %s: "+
				"what belongs to one would wait at the other; register the handlers of both with one consumer, or give them two names", other.handlers, handlers)
		}
	}
	one := &running{store, name, handlers}
	p.consumers = append(p.consumers, one)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.consumers = slices.DeleteFunc(p.consumers, func(other *running) bool { return other == one })
	}, nil
}
