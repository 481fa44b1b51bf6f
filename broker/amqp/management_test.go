package amqp

import (
	"encoding/json"
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
		{`{"type":"classic","arguments":{},"effective_policy_definition":[]}`, modern, limits{deliveries: Unlimited}},
		{`{"type":"classic","arguments":{},"effective_policy_definition":{"delivery-limit":3}}`, modern, limits{deliveries: Unlimited}},
		{`{"type":"quorum","arguments":{"x-queue-type":"quorum"}}`, old, limits{deliveries: Unlimited}},
		{`{"type":"quorum","arguments":{"x-queue-type":"quorum"}}`, modern, limits{deliveries: 20}},
		{`{"type":"quorum","arguments":{"x-delivery-limit":50},"effective_policy_definition":{"delivery-limit":7}}`, modern, limits{deliveries: 7}},
		{`{"type":"quorum","arguments":{"x-delivery-limit":5},"effective_policy_definition":{"delivery-limit":-1}}`, modern, limits{deliveries: 5}},
		{`{"type":"quorum","arguments":{"x-delivery-limit":-1}}`, modern, limits{deliveries: Unlimited}},
		{`{"type":"quorum","arguments":{},"effective_policy_definition":{"consumer-timeout":60000}}`, old, limits{deliveries: Unlimited, timeout: time.Minute}},
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
