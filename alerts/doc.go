// Package alerts sends alerts that people should see at once.
//
// # Nouns
//
// An [Alert] is one event, or several of one group; its [Kind] says what happened. A
// [Hook] sends alerts: [Log] to a log, package sinks to Slack and others, [Multi] to
// several hooks, a function of your own to a pager. A group is the alerts of one kind, consumer, handler
// and error fingerprint (for parked rows: of one topic).
//
// # Rules
//
// A hook never blocks or rolls back work: it is called in its own goroutine.
//
// One process at a time finds conditions (see Bounds) in the tables. Each sink gets an alert
// when a condition fires, gets worse, and is resolved: at least once, and in order.
//
// What a process reports of itself (a paused consumer, an ended subscription, a stuck handler,
// a stalled relay, a broker that is away) is a condition, too, until the process says that it
// is over, or has ended. If the database is away, the report goes to the hook directly, without
// Key and Phase. Its end is then an alert of a Good kind.
//
// The first of such alerts of a group is sent at once. Those that follow within [Options].Quiet
// are sent as one, with their count. At most Options.PerMinute are sent in a minute, and the
// last of them sums up the rest. Conditions are not summed up: those above the limit wait for
// the next minute, the most severe first. Their ends are sent at once. If an alert ends the
// last one sent (resumed after paused, or the other way round), it is sent after 5 seconds and
// does not wait for Quiet.
//
// An alert contains names, counts and text of ours: never a payload, a header, a key, an id of
// a message, or a secret. Alert.Error is the text of an error without what varies.
//
// # Caveats
//
// Alerts that are not rows are sent at most once: waiting ones are sent when the consumer
// ends, and lost if the process dies.
//
// A failed call is retried after 15 seconds, and the receiver may have accepted the first
// one: compare Alert.ID.
package alerts
