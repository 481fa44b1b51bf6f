package consumer

import (
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

var (
	errTwice = errors.New("a middleware inside calls the handler more than once in an attempt, whose effects would be doubled: remove it")
	errAsync = errors.New("a middleware inside returns before the handler has: what the handler does then is not kept: remove it")
	errLater = errors.New("the handler returns, and goes on in a goroutine that asks for the transaction then: what it does is not kept, and its message is taken for handled: wait for it")
	// errHidden is the error of an attempt, not of the program.
	errHidden = errors.New("a middleware inside passed over the handler's error, or ran it again, but a failed run that has used the transaction fails the attempt")
	errPanic  = errors.New("the handler panicked")
)

// enter returns raw as the innermost function: each call of it is noted.
func enter(raw message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) (out []*message.Message, err error) {
		t, _ := m.Context().Value(trialKey{}).(*trial)
		if t == nil { // a message of a middleware's own, without the transaction
			return raw(m)
		}
		t.look()
		may, err := t.come()
		if !may {
			return nil, err
		}
		returned := false
		defer func() {
			if !returned {
				err = errPanic
			}
			t.leave(err)
		}()
		out, err = raw(m)
		returned = true
		return out, err
	}
}

// come reports whether the handler may run. Where the program is refused, it does not, and
// there is no error, on which a middleware would act.
func (t *trial) come() (may bool, err error) {
	if t.h.a.refused() != nil {
		return false, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entered++
	if t.entered == 1 && t.came != nil {
		close(t.came)
	}
	switch {
	case t.over && t.ended == nil:
		t.refuse(errAsync)
		return false, nil
	case t.over:
		return false, t.ended
	case t.failed != nil:
		return false, t.failed
	case t.kept || t.within > 0:
		t.refuse(errTwice)
		return false, nil
	}
	t.within++
	return true, nil
}

func (t *trial) leave(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.within--
	switch {
	case err == nil:
		t.kept = true
	case t.failed == nil && t.tx.Used():
		t.failed = err
	}
}

// ask notes that the handler is given the transaction.
func (t *trial) ask() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.asked = true
	} else if !t.asked && t.ended == nil {
		t.refuse(errLater)
	}
}

// wait is how long the handler has to be entered, where an attempt ended without that and
// none has been sound before: a goroutine may be about to do it.
const wait = 100 * time.Millisecond

// end returns what the attempt ends with, where f returned err.
func (t *trial) end(err error) error {
	if err == nil && !t.h.sound.Load() {
		t.linger()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case errors.Is(err, headrace.ErrOrder): // one of our middlewares says so
		t.h.a.refuse(fmt.Errorf("handler %q: %w", t.h.name, err))
	case err == nil && t.within > 0:
		t.refuse(errAsync)
	case err == nil && t.failed != nil:
		err = fmt.Errorf("%w: %w", errHidden, t.failed)
	case t.entered > 0:
		t.h.sound.Store(true)
	}
	t.over, t.ended = true, err
	return err
}

// linger waits until the handler is entered, where it was not, for a moment.
func (t *trial) linger() {
	t.mu.Lock()
	if t.entered > 0 {
		t.mu.Unlock()
		return
	}
	t.came = make(chan struct{})
	t.mu.Unlock()
	timer := time.NewTimer(min(wait, t.h.a.c.config.NackPause))
	defer timer.Stop()
	select {
	case <-t.came:
		t.refuse(errAsync)
	case <-timer.C:
	}
}
