// Package shard assigns rows to the shards that drains work off, one worker a shard at a
// time.
//
// Rule: the number of shards is fixed by the first migration (by its CHECK), because two
// processes with different numbers would break the order of a key.
package shard
