// Package depths reads how much waits for a consumer, for the gauges of package telemetry.
//
// # Rules
//
// All processes of a consumer read the same numbers. Each query is bounded, or reads counters.
package depths
