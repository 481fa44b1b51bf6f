// Package alerts tells people what they should know at once.
//
// # Nouns
//
// An [Alert] is one thing that happened, or several that say the same; its [Kind]
// says what. A [Hook] passes alerts on: [Log] to a log, [Webhook] to a URL, [Multi]
// to several hooks, a function of your own to a pager. A group is the alerts that say
// the same: of one kind, consumer, handler and error print (parked rows: of one
// topic).
//
// # Rules
//
// A hook never blocks or rolls back work: it is called from a goroutine of its own.
//
// Alerts of dead letters and parked rows are rows of the database. The transaction
// that gives a message up, or parks a row, appends one row and does nothing else;
// where it rolls back there is no alert. One process at a time counts the rows of a
// consumer and calls the hook, with no transaction open, and then records that it
// did: such an alert is sent at least once, and kept for a day while the hook fails.
//
// All others (a paused consumer, an ended subscription, a stuck handler, a stalled
// relay) go from the process to the hook without the database, which may be what is
// down.
//
// The first alert of a group is sent at once, and those that follow within
// [Options].Quiet as one that counts them. No more than Options.PerMinute are sent in
// a minute; the last of them sums up the rest. What takes the last word back (resumed
// after paused, or the other way round) does not wait for Quiet once it has settled, so
// that what people were told last becomes true soon.
//
// An alert holds names, counts and text of ours: never a payload, a header, a key, an
// id of a message, the words of an error, or a secret.
//
// # Caveats
//
// Alerts that are no rows are sent at most once: those that wait are sent when the
// consumer ends, and lost where the process dies.
//
// A retry of a failed call begins after 15 seconds and may come to a receiver that
// had taken the alert: go by Alert.ID.
package alerts
