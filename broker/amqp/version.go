package amqp

import (
	"strconv"
	"strings"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// version is the broker's version; zero if it does not say.
type version struct{ major, minor int }

func versionOf(conn *amqp091.Connection) version {
	text, _ := conn.Properties["version"].(string)
	var v version
	major, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	v.major, _ = strconv.Atoi(major) // 0 if it is not a number
	v.minor, _ = strconv.Atoi(minor)
	return v
}

// limits reports whether a quorum queue of the broker has a delivery limit by default.
func (v version) limits() bool { return v.major >= 4 }

// defaultDeliveryLimit is that default.
const defaultDeliveryLimit = 20
