package main

import "testing"

func TestSinksGot(t *testing.T) {
	ok, failing := sinkView{Sink: "slack-0a1b2c3d", Got: "firing"}, sinkView{Sink: "pagerduty-4e5f6a7b", Got: "firing", Error: "pagerduty: the receiver answered with status 503"}
	for _, c := range []struct {
		list []sinkView
		want string
	}{
		{nil, ""},
		{[]sinkView{ok}, "slack-0a1b2c3d: firing"},
		{[]sinkView{ok, ok}, "slack-0a1b2c3d: firing, slack-0a1b2c3d: firing"},
		{[]sinkView{ok, ok, ok}, "3 sinks: -o json lists them"},
		{[]sinkView{ok, failing, ok}, "3 sinks, 1 failing: pagerduty-4e5f6a7b: the receiver answer…"},
		{[]sinkView{failing}, "pagerduty-4e5f6a7b: the receiver answered with status 503"},
	} {
		if got := sinksGot(c.list); got != c.want {
			t.Errorf("%d: %q, want %q", len(c.list), got, c.want)
		}
	}
}
