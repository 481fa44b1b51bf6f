package mistake

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/runtime"
	"github.com/headrace/headrace/internal/task"
)

// Handler returns what is wrong with a handler beside those that are registered. local says that
// it takes local events.
func Handler(h *runtime.Handler, registered []*runtime.Handler, local bool) (mistakes []error) {
	for _, other := range registered {
		switch {
		case other.Name == h.Name:
			mistakes = append(mistakes, errors.New("there is another handler of that name: use consumer.Name"))
		case local && other.Topic == h.Topic && other.Source == nil:
			mistakes = append(mistakes, fmt.Errorf("handler %q already takes the local events of topic %q: use two consumers, or one handler that calls both", other.Name, h.Topic))
		case other.Topic == h.Topic && Same(other.Source, h.Source):
			mistakes = append(mistakes, fmt.Errorf("handler %q already takes the messages of topic %q from this source, and each of the two would get "+
				"only some: use two consumers, or one handler that calls both", other.Name, h.Topic))
		}
	}
	return mistakes
}

// Consumer is a consumer of this program.
type Consumer struct {
	Name string
	*runtime.Runtime
}

// Consumers returns an error if two consumers have one name and one store: what belongs to
// the handlers of one would wait at the other.
func Consumers(all []Consumer) error {
	for j, c := range all {
		i := slices.IndexFunc(all[:j], func(other Consumer) bool { return other.Name == c.Name && Same(other.Store, c.Store) })
		switch {
		case i < 0:
		case all[i].Runtime == c.Runtime:
			return fmt.Errorf("consumers %d and %d of %d are the same consumer, %q", i+1, j+1, len(all), c.Name)
		default:
			return fmt.Errorf("consumers %d and %d of %d have one name, %q, and one store: one has the handlers %s, the other %s, and what belongs to one would wait "+
				"at the other; register the handlers of both with one consumer, or give them two names", i+1, j+1, len(all), c.Name, task.Labels(all[i].Handlers()), task.Labels(c.Handlers()))
		}
	}
	return nil
}

// Same reports whether two sources, or two stores, are one. nil is the same as none.
func Same(a, b any) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// Nil returns an error if v holds a nil pointer, which is not nil itself: most often the
// result of a function whose error was dropped.
func Nil(v any) error {
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
		return fmt.Errorf("it holds a %T that is nil: look at the error of the function that returned it", v)
	}
	return nil
}

// List is the mistakes in the registrations of a consumer.
type List []error

// Err returns all of them in one line; nil if there are none.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	texts := make([]string, len(l))
	for i, err := range l {
		texts[i] = err.Error()
	}
	return fmt.Errorf("register handlers: %s", strings.Join(texts, "; "))
}
