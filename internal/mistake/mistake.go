package mistake

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/runtime"
	"github.com/headrace/headrace/internal/task"
)

// Handler returns what is wrong with a handler beside those that are registered. local says that
// it takes local events, and drain is the consumer's DrainTimeout.
func Handler(h *runtime.Handler, registered []*runtime.Handler, local bool, drain time.Duration) (mistakes []error) {
	if err := cmp.Or(encode.Topic("the topic", h.Topic), encode.Name("handler name (option consumer.Name)", h.Name)); err != nil {
		mistakes = append(mistakes, err)
	}
	if h.Leased != nil {
		mistakes = append(mistakes, h.Leased.Plan.CutOff(h.Timeout, drain)...)
	}
	if err := ingest(h, registered); err != nil {
		mistakes = append(mistakes, err)
	}
	for _, other := range registered {
		switch { // another name is no help where the topic is taken
		case local && other.Topic == h.Topic && other.Source == nil:
			mistakes = append(mistakes, fmt.Errorf("handler %q already takes the local events of topic %q: use two consumers, or one handler that calls both", other.Name, h.Topic))
		case other.Topic == h.Topic && Same(other.Source, h.Source), other.Ingest != nil && other.Ingest.Queue == h.Topic && Same(other.Ingest.Source, h.Source):
			mistakes = append(mistakes, fmt.Errorf("handler %q already takes the messages of topic %q from this source, and each of the two would get "+
				"only some: use two consumers, or one handler that calls both", other.Name, h.Topic))
		case other.Name == h.Name:
			mistakes = append(mistakes, errors.New("there is another handler of that name: use consumer.Name"))
		}
	}
	return mistakes
}

// Origin returns what is wrong with the names that the records of a process carry.
func Origin(build, environment string) error {
	return cmp.Or(encode.Seen("option Config.Build, else HEADRACE_BUILD,", build),
		encode.Seen("option Config.Environment, else HEADRACE_ENVIRONMENT,", environment))
}

// ingest returns what is wrong with the dead-letter queue of a handler; nil if it has none.
func ingest(h *runtime.Handler, registered []*runtime.Handler) error {
	in := h.Ingest
	if in == nil {
		return nil
	}
	if err := encode.Topic("the queue", in.Queue); err != nil {
		return fmt.Errorf("option Ingest: %w", err)
	}
	if in.Read == nil {
		return fmt.Errorf("Ingest(%q): the from.Reader is nil: give one of package dlq/from", in.Queue)
	}
	if in.Queue == h.Topic && Same(in.Source, h.Source) {
		return fmt.Errorf("Ingest(%q): it is the topic of the handler: give the queue in which the broker puts what it gave up", in.Queue)
	}
	for _, other := range registered {
		if other.Topic == in.Queue && Same(other.Source, in.Source) || other.Ingest != nil && other.Ingest.Queue == in.Queue && Same(other.Ingest.Source, in.Source) {
			return fmt.Errorf("Ingest(%q): handler %q already takes the messages of that queue from this source, and each of the two would get only some", in.Queue, other.Name)
		}
	}
	return nil
}

// Source returns an error if the source of an option is nil.
func Source(option string, source message.Subscriber) error {
	if source == nil {
		return fmt.Errorf("%s(nil): give a Watermill Subscriber", option)
	}
	if err := Nil(source); err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	return nil
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
