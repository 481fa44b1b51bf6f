package amqp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// Rule: of an argument and a policy the lower limit counts, and without either the
// default of the broker's version.
func TestLimitsOfQueue(t *testing.T) {
	old, modern := version{3, 10}, version{4, 1}
	for _, c := range []struct {
		answer string
		v      version
		want   limits
	}{
		{`{"type":"stream","durable":true,"arguments":{"x-queue-type":"stream"}}`, old, limits{deliveries: Unlimited, stream: true}},
		{`{"type":"classic","durable":true,"arguments":{},"effective_policy_definition":[]}`, modern, limits{deliveries: Unlimited}},
		{`{"type":"classic","durable":true,"arguments":{},"effective_policy_definition":{"delivery-limit":3}}`, modern, limits{deliveries: Unlimited}},
		{`{"type":"quorum","durable":true,"arguments":{"x-queue-type":"quorum"}}`, old, limits{deliveries: Unlimited}},
		{`{"type":"quorum","durable":true,"arguments":{"x-queue-type":"quorum"}}`, modern, limits{deliveries: 20}},
		{`{"type":"quorum","durable":true,"arguments":{"x-delivery-limit":50},"effective_policy_definition":{"delivery-limit":7}}`, modern, limits{deliveries: 7}},
		{`{"type":"quorum","durable":true,"arguments":{"x-delivery-limit":5},"effective_policy_definition":{"delivery-limit":-1}}`, modern, limits{deliveries: 5}},
		{`{"type":"quorum","durable":true,"arguments":{"x-delivery-limit":-1}}`, modern, limits{deliveries: Unlimited}},
		{`{"type":"quorum","durable":true,"arguments":{},"effective_policy_definition":{"consumer-timeout":60000}}`, old, limits{deliveries: Unlimited, timeout: time.Minute}},
	} {
		var info queueInfo
		if err := json.Unmarshal([]byte(c.answer), &info); err != nil {
			t.Fatal(err)
		}
		if got, err := info.limits(c.v); err != nil || got != c.want {
			t.Errorf("%s of %v: %+v (%v), want %+v", c.answer, c.v, got, err, c.want)
		}
	}
}

// Rule: a queue that loses what the broker has confirmed is known by each of its settings,
// and one that refuses what is too much is none.
func TestLossesOfQueue(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{`{"type":"classic","durable":true,"arguments":[],"effective_policy_definition":[]}`, ""},
		{`{"type":"classic","durable":false}`, "is not durable"},
		{`{"type":"classic","durable":true,"auto_delete":true}`, "is auto-delete"},
		{`{"type":"classic","durable":true,"exclusive":true}`, "is exclusive"},
		{`{"type":"classic","durable":true,"arguments":{"x-max-length":0}}`, "argument x-max-length"},
		{`{"type":"quorum","durable":true,"effective_policy_definition":{"max-length-bytes":9}}`, "max-length-bytes of its policy"},
		{`{"type":"quorum","durable":true,"arguments":{"x-message-ttl":9}}`, "argument x-message-ttl"},
		{`{"type":"quorum","durable":true,"effective_policy_definition":{"message-ttl":9}}`, "message-ttl of its policy"},
		{`{"type":"classic","durable":true,"effective_policy_definition":{"expires":9}}`, "expires of its policy"},
		{`{"type":"classic","durable":true,"arguments":{"x-max-length":1,"x-overflow":"reject-publish"}}`, ""},
		{`{"type":"classic","durable":true,"arguments":{"x-max-length":1},"effective_policy_definition":{"overflow":"reject-publish"}}`, ""},
		{`{"type":"classic","durable":true,"arguments":{"x-max-length":1,"x-overflow":"drop-head"},"effective_policy_definition":{"overflow":"reject-publish"}}`, "x-max-length"},
		{`{"type":"classic","durable":true,"arguments":{"x-max-length":1,"x-overflow":"reject-publish-dlx"}}`, ""},
		{`{"type":"quorum","durable":true,"arguments":{"x-max-length":1,"x-overflow":"reject-publish-dlx"}}`, "x-max-length"},
		{`{"type":"classic","durable":true,"arguments":{"x-message-ttl":1,"x-overflow":"reject-publish"}}`, "x-message-ttl"},
	} {
		var info queueInfo
		if err := json.Unmarshal([]byte(c.answer), &info); err != nil {
			t.Fatal(err)
		}
		got, err := info.losses()
		if err != nil || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q (%v), want %q", c.answer, got, err, c.want)
		}
	}
}
