package brokertest

// scenarios are all of them, the quick ones first.
var scenarios = []scenario{
	{"foreign sender", nil, foreign},
	{"nameless", named, nameless},
	{"sent three times", nil, twins},
	{"hostile", nil, hostile},
	{"bad payload first", nil, badFirst},
	{"handler panics", nil, panics},
	{"in flight", nil, inFlight},
	{"order", func(f Features) string { return unless(f.Ordered, "it promises no order") }, ordered},
	{"nack", nil, nacks},
	{"pause", nil, paused},
	{"stop in a handler", nil, stopped},
	{"what we send", nil, roundTrip},
	{"copies of dead letters", nil, copies},
	{"no topic, and too large", nil, refused},
	{"recreated", recreatable, recreated},
	{"removed", recreatable, removed},
	{"heartbeat", nil, heartbeat},
	{"given again while the handler runs", nil, givenAgain},
	{"killed", nil, killed},
	{"changing owners", nil, owners},
	{"broker is away", nil, away},
	{"broker is away from the sink", nil, sinkAway},
	{"connection resets", nil, resets},
	{"server restarts", func(f Features) string { return unless(f.Restart != nil, "it cannot be restarted here") }, restarted},
}

func unless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}

func named(f Features) string {
	return unless(f.Anonymous, "each message has an id or a position")
}

func recreatable(f Features) string {
	return unless(f.Delete != nil && !f.Anonymous, "it has no positions that could be given twice")
}
