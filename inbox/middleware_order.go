package inbox

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/chain"
)

// insiders must not stand inside, and why: the handler's transaction would be committed
// after a failure.
var insiders = map[string]string{
	chain.WatermillRetry: "its attempts share one transaction, so that the writes of a failed one are kept: put it, or retry.Middleware, outside",
	chain.PoisonQueue:    "it hides the failure, and the writes of the failed attempt are kept: put it, or dlq.Middleware, outside",
	chain.IgnoreErrors:   "it hides the failure, and the writes of the failed attempt are kept: put it outside",
	chain.Deduplicator:   "it takes the next attempt of a message for a duplicate, which is recorded as handled then: remove it",
	chain.Duplicator:     "it runs the handler twice in one transaction: remove it",
}

// looks is on how many messages of a handler its surroundings are looked at.
const looks = 16

// surroundings are what is known of the middlewares around one handler.
type surroundings struct {
	looked atomic.Int64
	wrong  atomic.Pointer[error] // no message is handled
	hold   atomic.Bool           // and none may be given back
	early  atomic.Bool           // InstantAck acknowledges them
	told   sync.Once
}

// around returns the surroundings of the handler of m, whose next function is next.
func (w *middleware) around(m *message.Message, next message.HandlerFunc) *surroundings {
	name := message.HandlerNameFromCtx(m.Context())
	if s, ok := w.surroundings.Load(name); ok {
		return s.(*surroundings)
	}
	s := &surroundings{}
	s.inside([]string{chain.Known(next)})
	first, _ := w.surroundings.LoadOrStore(name, s)
	return first.(*surroundings)
}

// outside looks at the callers, on a handler's first messages.
func (s *surroundings) outside() {
	if s.looked.Load() >= looks {
		return
	}
	s.looked.Add(1)
	names := chain.Callers("")
	if slices.Contains(names, chain.Deduplicator) {
		s.hold.Store(true)
		s.refuse("remove the middleware Deduplicator outside of inbox.Middleware: it marks a message before its handler has run, so that one which failed is taken for a duplicate and lost")
	}
	if i := slices.Index(names, chain.InstantAck); i >= 0 && !slices.Contains(names[i:], chain.Ours) { // ours inside of it hand on copies
		s.early.Store(true)
	}
}

// inside judges middlewares between us and the handler.
func (s *surroundings) inside(names []string) {
	for _, name := range names {
		if why := insiders[name]; why != "" {
			s.refuse(fmt.Sprintf("the middleware %s stands inside inbox.Middleware: %s", name, why))
		}
	}
}

func (s *surroundings) refuse(why string) {
	err := fmt.Errorf("%w: %s", headrace.ErrOrder, why)
	s.wrong.CompareAndSwap(nil, &err)
}

// refused returns why no message is handled; nil where they are. One that a Deduplicator
// has marked must not be given back: it would acknowledge the redelivery. So it is held
// until the end of ctx, which is the end of its subscription.
func (s *surroundings) refused(ctx context.Context) error {
	wrong := s.wrong.Load()
	if wrong == nil {
		return nil
	}
	if s.hold.Load() && ctx.Done() != nil {
		s.told.Do(func() {
			slog.Error("messages are held unacknowledged: the Router is put together wrongly", "error", *wrong)
		})
		<-ctx.Done()
	}
	return *wrong
}

// after returns the error of a message that is done with.
func (s *surroundings) after() error {
	if s.early.Load() {
		return fmt.Errorf("%w: remove the middleware InstantAck outside of inbox.Middleware: this message was handled, but it was acknowledged before that, and so one that fails is lost",
			headrace.ErrOrder)
	}
	return nil
}

// probing is the context of a handler's first messages. Asking it for the transaction
// shows who stands between us and the handler: they are on the stack then.
type probing struct {
	context.Context
	s *surroundings
}

// Value implements context.Context.
func (p probing) Value(key any) any {
	p.s.inside(chain.Callers(runs))
	return p.Context.Value(key)
}

// runs begins the names of the functions that call what stands inside.
const runs = "github.com/headrace/headrace/inbox.(*middleware).run"
