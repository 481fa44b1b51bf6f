# shellcheck shell=bash
# NATS with JetStream, for scripts/services. From docker-compose.yml only: no test needs it yet, so nothing here starts it
# natively.

nats_env() { # PORT
	printf "export HEADRACE_TEST_NATS='nats://127.0.0.1:%s'\n" "$1"
}
