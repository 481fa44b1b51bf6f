// Command natsd is the NATS server, for scripts/services where no docker engine answers: the
// module github.com/nats-io/nats-server/v2 in the version that go.mod names. Debian's own
// package is years older. It takes the flags of nats-server:
//
//	natsd -js -sd DIR -a 127.0.0.1 -p PORT
package main
