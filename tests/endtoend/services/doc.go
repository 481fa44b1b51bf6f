// Package services finds the broker that a program over one runs against, and starts it
// where none runs: with scripts/services, which needs no docker.
//
//	found, err := services.Kafka.Find(ctx, *address, false, os.Stderr)
//	if err != nil {
//		return err
//	}
//	defer func() { err = errors.Join(err, found.Stop()) }()
//
// # Nouns
//
// A [Server] is a kind of broker, and where docker compose has it. The guard is a process
// that stops what was started when the program ends, also where the program is killed.
//
// # Caveats
//
// scripts/services is looked for in the working directory and those above it. A program of
// yours has the address of its broker, and no need of this package.
package services
