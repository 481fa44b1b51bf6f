//go:build unix

package nemesis

import (
	"context"
	"time"

	"github.com/headrace/headrace/internal/fault"
)

// Fault breaks something, for as long as it likes or ctx lasts.
type Fault struct {
	// Name is what -only takes; Says what happens, in a line.
	Name, Says string
	// Only names the one database that it is for; "" both.
	Only string
	// Disorders says that the source cannot keep the order of its keys meanwhile, and
	// Blames that it looks to headrace like a failure of a handler.
	Disorders, Blames bool
	// Prunes says that the fault ends with a prune of everything aged.
	Prunes bool
	// Least is how often it must take effect; 0 for a fault without an effect.
	Least func(kills int) int
	// Run breaks, and returns how often that took effect.
	Run func(ctx context.Context, w *World) (hits int, err error)
}

func once(int) int       { return 1 }
func each(kills int) int { return kills }
func never(int) int      { return 0 }

// Faults returns all of them: first none at all, then the crash points.
func Faults() []Fault {
	all := []Fault{{Name: "none", Says: "nothing happens", Least: never, Run: none}}
	for _, p := range fault.Points {
		all = append(all, crash(p))
	}
	return append(all,
		Fault{Name: "kill", Says: "kill -9 of the children at any moment", Least: each, Run: killRandomly},
		Fault{Name: "term", Says: "SIGTERM, one after the other", Least: each, Run: terminate},
		Fault{Name: "killer", Says: "a message that kills its process each time", Least: once, Run: killer},
		Fault{Name: "zombie", Says: "SIGSTOP beyond every timeout, then SIGCONT", Least: once, Disorders: true, Blames: true, Run: zombie},
		Fault{Name: "server-crash", Says: "pg_ctl stop -m immediate under load", Only: "postgres", Least: each, Blames: true, Run: serverCrash},
		Fault{Name: "lost-commit", Says: "COMMIT arrives, its answer does not", Only: "postgres", Least: each, Run: lostCommit},
		Fault{Name: "backends", Says: "pg_terminate_backend of all children every 100 ms", Only: "postgres", Least: each, Blames: true, Run: backends},
		Fault{Name: "long-writer", Says: "a long writing transaction in another database", Only: "postgres", Least: once, Run: longWriter},
		Fault{Name: "late-committer", Says: "an event with a lower id commits after higher ones were published", Only: "postgres", Least: once, Run: lateCommitter},
		Fault{Name: "long-snapshot", Says: "an open snapshot all the time", Only: "postgres", Least: once, Run: longSnapshot},
		Fault{Name: "restore", Says: "dump, restore into a fresh cluster, redelivery of everything", Least: once, Run: restore},
		Fault{Name: "busy", Says: "another process holds the write lock, once beyond the busy timeout", Only: "sqlite", Least: once, Run: busy},
	)
}

// none lets it work for a while.
func none(ctx context.Context, _ *World) (int, error) {
	sleep(ctx, 2*time.Second)
	return 0, nil
}
