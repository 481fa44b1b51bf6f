// Package broker is a small message broker of the torture: the [Server] runs in the
// parent process and outlives every child that is killed; [Subscriber] and [Publisher]
// are its Watermill clients in the children.
//
// # Rules
//
// A message stays until it is acknowledged. One that was given to a session is given
// again when it is given back, or when the session ends: its connection went, or
// nothing was heard of it for [SessionTimeout]. Messages of one key are given to one
// session at a time, in order, like those of a partition; others to whichever has room.
// What was in hand when a session ended is given again in the old order.
//
// Publish returns after the server has noted every message.
package broker
