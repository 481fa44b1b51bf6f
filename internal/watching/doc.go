// Package watching finds out what is wrong with a consumer and its database, and sends the alerts.
//
// # Rules
//
// A [Watch] judges from the tables every 10 seconds, or when it is woken, and writes conditions;
// then each sink is sent what it must know, in its own goroutine. Judging and sending have leases,
// so that one process at a time does each. What is decided is in package alerts/condition, and from
// which facts in judge.go; both are functions of their arguments.
//
// A slow or failing sink delays no other and no work. A process that dies between a send and its
// record sends the alert again, with the same id.
package watching
