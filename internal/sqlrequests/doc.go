// Package sqlrequests contains what a store keeps of people: what they ask the processes of a
// consumer to do, and what they did.
//
// The rules for its statements are those of package sqlstore.
package sqlrequests
