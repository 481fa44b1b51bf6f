package ledger

import "context"

// Session is the ledger of one run of a leased handler. The engine implements it.
type Session interface {
	// Do makes the call, or returns its recorded result; see Step.Do. A nil result with a
	// nil error is that of a skipped step.
	Do(ctx context.Context, r Request) (result []byte, err error)
	// Await returns the JSON of a signal, or an error; see Signal.Await.
	Await(ctx context.Context, r Request) (value []byte, err error)
	// Begun reports what Begun says.
	Begun(ctx context.Context) (bool, error)
}

// Begun reports whether an earlier run of the message has recorded a step that may have done
// something, or waited for a signal: such a message must go on to its end. It is for the work of
// consumer.HandleLeased, with the context that the handler was given, and false elsewhere. It
// reads the database; return its error.
func Begun(ctx context.Context) (bool, error) {
	session := from(ctx)
	if session == nil {
		return false, nil
	}
	return session.Begun(ctx)
}

// Request is a step to be done.
type Request struct {
	Spec
	// Item is that of Of, InputHash the hash of Input; "" without.
	Item, InputHash string
	// Call makes the call.
	Call func(ctx context.Context, c *Call) (Answer, error)
	// Find asks for the result; nil if the step has no Find.
	Find func(ctx context.Context, c *Call) (a Answer, found bool, err error)
}

// Step is the whole name of the step: with its item.
func (r Request) Step() string { return StepName(r.Name, r.Item) }

// Answer is the result of a call.
type Answer struct {
	// Result is its JSON; nil if there is none, and Unfit then says why.
	Result []byte
	Unfit  string
}

type sessionKey struct{}

// With returns a context that carries s. The engine calls it for the context of a leased
// handler.
func With(ctx context.Context, s Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// from returns the session that ctx carries, or nil.
func from(ctx context.Context) Session {
	s, _ := ctx.Value(sessionKey{}).(Session)
	return s
}
