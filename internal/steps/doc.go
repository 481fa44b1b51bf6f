// Package steps runs the steps of leased handlers: it implements ledger.Session.
//
// # Nouns
//
// A [Session] is the ledger of one run of a message. A plan.Plan is what the handler declares.
//
// # Rules
//
// The mark: before a call, its row says pending, in a commit under the lock of the lease.
// One that has lost the lease begins nothing. After a mark the call is made once; a mark
// whose COMMIT has no answer is read again first.
//
// The record: any process that has a result records it, without a look at the lease, until
// the process ends; a result that is recorded stays. Everything else that comes of a call
// is recorded only while the row is still that of the call.
//
// What to do is decided by two pure functions: next, before a call, by the row and the
// declaration; and judge, after it, by what its error says.
//
// # Caveats
//
// A call that ignores its context is abandoned after the grace; its late result is still
// recorded.
package steps
