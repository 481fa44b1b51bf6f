package instance

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/headrace/headrace/inbox"
)

// Hash identifies a message in a mark: short, and the same in every process.
type Hash [16]byte

// HashOf returns the hash of a message.
func HashOf(id inbox.ID) Hash {
	sum := sha256.Sum256([]byte(id.Scope + "\x00" + id.Key))
	return Hash(sum[:16])
}

// Mark names the messages that a worker of an instance is about to run, so that they are
// known if the process ends.
type Mark struct {
	// Instance and Worker identify it; a worker has one mark, and the next replaces it.
	Instance string
	Worker   int
	// Messages are the messages of its run; none clears the mark.
	Messages []Hash
	// Alone says that they are the only work of the process.
	Alone bool
}

// Suspect is a message that ran when a process ended unexpectedly.
type Suspect struct {
	// Message identifies it.
	Message Hash
	// Alone counts the deaths with it as the only work of its process, Beside those with
	// concurrent work.
	Alone, Beside int
}

// Marks store the messages that currently run, while processes search for one that ends
// them. Drivers implement it. Each method is one transaction, and waits for the database
// until ctx ends.
type Marks interface {
	// Mark writes m, and waits until it is durable.
	Mark(ctx context.Context, m Mark) error
	// Marks returns the marks of the instances of consumer that have neither ended nor
	// been counted as dead, without those of the instance called except.
	Marks(ctx context.Context, consumer, except string) ([]Mark, error)
	// CountDeath makes suspects of the messages in the marks of an instance that has not
	// ended and has not beaten for longer than missed, and removes the marks. It reports
	// whether it did: only one of several callers does.
	CountDeath(ctx context.Context, id string, missed time.Duration) (bool, error)
	// Suspects returns the suspects of consumer, at most limit.
	Suspects(ctx context.Context, consumer string, limit int) ([]Suspect, error)
	// Clear removes a suspect: its handler returned, or it became a dead letter.
	Clear(ctx context.Context, consumer string, message Hash) error
}
