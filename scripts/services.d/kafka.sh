# shellcheck shell=bash
# Apache Kafka, one node in KRaft mode, for scripts/services. From docker-compose.yml only: no test needs it yet, so nothing here starts it
# natively.

kafka_env() { # PORT
	printf "export HEADRACE_TEST_KAFKA='127.0.0.1:%s'\n" "$1"
}
