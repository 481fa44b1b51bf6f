package main

import (
	"os"

	"github.com/headrace/headrace/tests/endtoend/story"
)

func main() { os.Exit(story.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
