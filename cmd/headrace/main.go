package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for the zones of schedules
)

func main() {
	// A closed pipe is then a write error, and never kills the process during a redrive.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(New().Run(context.Background(), os.Args[1:]))
}
