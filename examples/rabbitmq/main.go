package main

import (
	"os"

	"github.com/headrace/headrace/examples/internal/story"
)

func main() { os.Exit(story.OverBroker(broker, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

var broker = story.Broker{
	Name: "rabbitmq", Service: "rabbitmq", Variable: "HEADRACE_TEST_RABBITMQ",
	Compose: "amqp://guest:guest@127.0.0.1:5672/", Connect: connect,
}
