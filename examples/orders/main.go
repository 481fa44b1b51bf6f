package main

import (
	"os"

	"github.com/headrace/headrace/examples/internal/story"
)

func main() { os.Exit(story.Orders(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
