package consumer

import (
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/chain"
	"github.com/headrace/headrace/internal/group"
)

// Rule: an attempt is one run of the handler, and what a run that failed has written is
// never committed. Middlewares inside, and those that a handler was registered in, must
// not undo that. Those that are known by name are found when Attach wraps the handler, or
// on the stack, where it asks its context; what the program's own ones do shows in when
// the handler is entered and left.

// insider says of the middleware of that name why it must not stand inside; "" where it may.
func insider(name string) string {
	if why := insiders[name]; why != "" {
		return fmt.Sprintf("remove the middleware %s from around the handler: %s", name, why)
	}
	return rival(name)
}

// wrap returns the handler name as it was registered, in the middlewares inside.
func (a *attachment) wrap(name string, inside []message.HandlerMiddleware) (*attempts, error) {
	raw := a.raw[name]
	f := enter(raw)
	why := insider(chain.Known(raw))
	for i := len(inside) - 1; i >= 0 && why == ""; i-- {
		f = inside[i](f)
		why = insider(chain.Known(f))
	}
	if why != "" {
		return nil, fmt.Errorf("handler %q: %w: %s", name, headrace.ErrOrder, why)
	}
	return &attempts{a: a, name: name, f: f}, nil
}

// refuse has no handler run any more because of wrong, and tells people.
func (a *attachment) refuse(wrong error) {
	err := fmt.Errorf("%w: %w", group.ErrRefused, wrong)
	a.wrong.CompareAndSwap(nil, &err)
	a.disorder(wrong)
}

// refused returns why no handler is run; nil where they are.
func (a *attachment) refused() error {
	if a == nil {
		return nil
	}
	if err := a.wrong.Load(); err != nil {
		return *err
	}
	return nil
}
