package main

import (
	"os"

	"github.com/headrace/headrace/examples/internal/story"
)

func main() { os.Exit(story.OverBroker(broker, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

var broker = story.Broker{
	Name: "sqs", Service: "sqs", Variable: "HEADRACE_TEST_SQS", Compose: "http://127.0.0.1:9324", Connect: connect,
}
