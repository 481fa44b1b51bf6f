package kafka

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace/broker/internal/flow"
)

// outage logs a failure once, until Kafka works again. It is also the client's hook for
// connections.
type outage struct {
	log *slog.Logger

	// served and commits are for Source.Healthy: whether the group and the topic are
	// there, and whether the group takes offsets.
	served, commits flow.Health

	mu  sync.Mutex
	out bool
}

var _ kgo.HookBrokerConnect = (*outage)(nil)

// note records that what fails with err.
func (o *outage) note(what string, err error) {
	o.mu.Lock()
	first := !o.out
	o.out = true
	o.mu.Unlock()
	if first {
		o.log.Warn("Kafka does not answer as it should; trying again until it does", "failed", what, "error", err)
	}
}

// over records that Kafka works, and logs it after a failure.
func (o *outage) over() {
	o.mu.Lock()
	was := o.out
	o.out = false
	o.mu.Unlock()
	if was {
		o.log.Info("Kafka answers again")
	}
}

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (o *outage) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, kgo.ErrClientClosed) {
		o.note("a connection", err)
	}
}
