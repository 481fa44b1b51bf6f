package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A closed pipe is then an error of a write, and never ends a redrive midway.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(New().Run(context.Background(), os.Args[1:]))
}
