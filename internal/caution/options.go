package caution

import (
	"log/slog"
	"time"
)

// Options of a Guard. All durations are required.
type Options struct {
	// Look is the time between two looks at the other instances while there is caution,
	// and between two tries while the database does not answer.
	Look time.Duration
	// Beat is the time between two beats.
	Beat time.Duration
	// Missed is how long without a beat makes an instance dead.
	Missed time.Duration
	// Most bounds the caution that a death asks for.
	Most time.Duration
	// OnlyLeased says that every handler is a leased one: no message is ever written
	// down, and leased work need not wait for caution to end.
	OnlyLeased bool
	// LeftBehind reports whether a handler that ignored its context still runs: then no
	// message is the only work, and none is written down. nil means never.
	LeftBehind func() bool
	// Logger takes what operators should know. nil means slog.Default.
	Logger *slog.Logger
}

// maxDeaths is how many instances may die with a message as their only work.
const maxDeaths = 3

const (
	// patience bounds a statement of ours.
	patience = 5 * time.Second
	// forgetAfter is how long instances are kept, and forgetEvery how often the old ones
	// are removed.
	forgetAfter = 24 * time.Hour
	forgetEvery = time.Hour
)
