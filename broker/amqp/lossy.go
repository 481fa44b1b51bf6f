package amqp

import (
	"encoding/json"
	"fmt"
	"strings"
)

// streamKind is the type of a stream, which is not a queue: messages stay in it.
const streamKind Kind = "stream"

// bounding are the properties by which a queue drops messages that the broker has
// confirmed. A policy has these names; an argument has the prefix x-.
var bounding = []struct{ name, effect string }{
	{"max-length", "drops the oldest message when it is full"},
	{"max-length-bytes", "drops the oldest message when it is full"},
	{"message-ttl", "drops messages that wait too long"},
	{"expires", "is deleted with its messages when it has no consumer for that long"},
}

// losses says how the queue loses messages that the broker has confirmed, and by which
// setting; "" if it does not. A bounded queue that rejects new messages loses none.
func (i queueInfo) losses() (string, error) {
	var found []string
	for _, own := range []struct {
		is   bool
		what string
	}{
		{!i.Durable, "is not durable: a restart of the broker loses it"},
		{i.AutoDelete, "is auto-delete: it is deleted with its messages when its last consumer goes"},
		{i.Exclusive, "is exclusive: it is deleted with its messages when its connection ends"},
	} {
		if own.is {
			found = append(found, own.what)
		}
	}
	var arguments, policy map[string]json.RawMessage
	if err := object(i.Arguments, &arguments); err != nil {
		return "", err
	}
	if err := object(i.Policy, &policy); err != nil {
		return "", err
	}
	refuses := i.refuses(arguments["x-overflow"], policy["overflow"])
	for _, b := range bounding {
		if refuses && strings.HasPrefix(b.name, "max-length") {
			continue
		}
		if _, has := arguments["x-"+b.name]; has {
			found = append(found, fmt.Sprintf("%s (argument x-%s)", b.effect, b.name))
		} else if _, has := policy[b.name]; has {
			found = append(found, fmt.Sprintf("%s (%s of its policy)", b.effect, b.name))
		}
	}
	return strings.Join(found, ", and "), nil
}

// refuses reports whether a full queue rejects new messages. The argument takes
// precedence over the policy, and quorum queues do not support reject-publish-dlx.
func (i queueInfo) refuses(argument, policy json.RawMessage) bool {
	overflow := argument
	if overflow == nil {
		overflow = policy
	}
	switch string(overflow) {
	case `"reject-publish"`:
		return true
	case `"reject-publish-dlx"`:
		return i.Type == string(Classic)
	}
	return false
}

// checkKind rejects queues that lose messages, and streams.
func (s *Source) checkKind(p place, found limits) error {
	switch {
	case found.stream:
		return errStream{p.queue}
	case found.losses != "" && !s.o.UnsafeLossy:
		return fmt.Errorf("queue %q loses messages that the broker has confirmed: it %s. Take that from its arguments or its policy "+
			"(a bounded length is no loss with overflow reject-publish), or set SourceOptions.UnsafeLossy", p.queue, found.losses)
	}
	return nil
}

// errStream says that a topic's queue is a stream.
type errStream struct{ queue string }

// Error implements error.
func (e errStream) Error() string {
	return fmt.Sprintf("queue %q is a stream, which remembers of no consumer what it has done, and gives only what is published later: "+
		"make the queue a quorum or classic one", e.queue)
}
