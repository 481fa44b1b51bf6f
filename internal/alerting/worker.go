package alerting

import (
	"context"
	"sync"

	"github.com/headrace/headrace/outbox"
)

// worker is what a Dispatcher and a Reader have in common: a goroutine that calls a hook
// until it is closed.
type worker struct {
	caller *Caller
	signal *outbox.Signal

	life    context.Context // context of all calls and statements
	cancel  context.CancelFunc
	closing sync.Once
	close   chan struct{}
	done    chan struct{} // closed by the goroutine when it has ended
}

func newWorker(c *Caller) *worker {
	w := &worker{caller: c, signal: outbox.NewSignal(), close: make(chan struct{}), done: make(chan struct{})}
	w.life, w.cancel = context.WithCancel(context.Background())
	return w
}

// Close makes the goroutine try once more to send what waits, and returns when it has
// ended. If ctx ends first, Close cancels the hook's context; a Dispatcher drops the other
// alerts, a Reader leaves them to the next one. If the hook does not return shortly after
// that, the error matches ErrHookStuck and its call is abandoned. Further calls wait in the
// same way.
func (w *worker) Close(ctx context.Context) error {
	w.closing.Do(func() { close(w.close) })
	stop := context.AfterFunc(ctx, w.cancel)
	defer stop()
	<-w.done // soon after ctx has ended: no call outlasts its context by more than graceTime
	w.cancel()
	return w.caller.Wait(ctx)
}
