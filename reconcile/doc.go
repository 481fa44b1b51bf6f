// Package reconcile compares the inbox with a source of truth, such as a shop, a bank or an
// ERP, on a schedule. It reports the items that have no message, or starts them.
//
//	reconcile.Handle(c, ticks, reconcile.Job[Order]{
//		Name: "reconcile.orders", Kind: OrdersPaid, Source: paidOrders, Lookback: 48 * time.Hour, Missing: reconcile.Enqueue,
//	})
//
// # Nouns
//
// A [Job] names the schedule, the intent.Kind whose messages it looks for, and the source. An
// [Item] is what the source has. A [Window] is the time that a tick compares. The [Result] is
// the answer to the tick (intent.Answer).
//
// # Rules
//
// An item is missing if the inbox has no row with its key, which the Kind computes. What waits,
// is dead or was discarded is not missing. Items younger than Grace are not looked at: their
// messages may be on their way.
//
// What was pruned looks missing too, and all of it would be applied again. So the window lies
// within retention: a consumer whose retention is too short is refused at its start, and each
// run compares only what is younger than the newest cut of any pruning, of a process or by
// hand. What it leaves out is in the report, and an alert reconcile_gap.
//
// A wrong key makes everything look missing. So nothing is started before the source was
// read to its end, and if more than MostMissing items or MostShare of them are missing, the
// tick becomes a dead letter of class parked. "headrace steps resolve SCOPE KEY limit --done"
// lets it go on, "headrace dlq discard" ends it.
//
// The message of an item may come later, as a webhook, with other bytes. So Enqueue needs a
// Kind with SameWhen, and the second one is a duplicate.
//
// The window begins at Lookback before the tick, or where the last run has ended, whichever
// is earlier: an outage leaves no gap. A run that was killed begins again.
//
// # Caveats
//
// Item.At must not move: give the time at which the message was due, as created or paid, and
// never that of the last change. A message that was handled and pruned long ago would look
// missing under a new time.
//
// The clocks of the source and of the database may differ by at most Grace.
//
// The consumer of the Kind and that of the job work on one database. The retention of another
// consumer than the job's is only known at run time, by its cuts.
package reconcile
