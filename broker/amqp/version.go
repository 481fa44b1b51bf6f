package amqp

import (
	"strconv"
	"strings"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// version is that of the broker; zero if it does not say.
type version struct{ major, minor int }

func versionOf(conn *amqp091.Connection) version {
	text, _ := conn.Properties["version"].(string)
	var v version
	major, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	v.major, _ = strconv.Atoi(major) // 0 where it is no number
	v.minor, _ = strconv.Atoi(minor)
	return v
}

// limits reports whether a quorum queue of the broker has a delivery limit unless
// somebody says otherwise.
func (v version) limits() bool { return v.major >= 4 }

// defaultDeliveryLimit is the limit of such a queue.
const defaultDeliveryLimit = 20
