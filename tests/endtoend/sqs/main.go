package main

import (
	"os"

	"github.com/headrace/headrace/tests/endtoend/services"
	"github.com/headrace/headrace/tests/endtoend/story"
)

func main() { os.Exit(story.OverBroker(broker, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

var broker = story.Broker{Server: services.SQS, Connect: connect}
