// Package around lets the test kit stand around the handlers of a consumer.
//
// # Rules
//
// Package consumer sets [Open]; package consumertest calls it, and nobody else does. What
// it gives changes registrations before Run: production code asks nothing and branches on
// nothing.
//
// # Caveats
//
// It is there so that users test the wiring that they run, without a word of the kit in
// it. An exported method would be one that users see and cannot call.
package around
