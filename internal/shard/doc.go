// Package shard places rows on the shards that drains work off, one worker a
// shard at a time.
//
// Rule: the number of shards is fixed by the first migration (a CHECK holds it),
// because two processes that disagree on it would break the order of a key.
package shard
