# shellcheck shell=bash
# RabbitMQ, for scripts/services. From docker-compose.yml only: no test needs it yet, so nothing here starts it
# natively.

rabbitmq_env() { # PORT
	printf "export HEADRACE_TEST_RABBITMQ='amqp://guest:guest@127.0.0.1:%s/'\n" "$1"
}
