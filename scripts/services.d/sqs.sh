# shellcheck shell=bash
# ElasticMQ, a server that speaks SQS, for scripts/services. From docker-compose.yml only: no test needs it yet, so nothing here starts it
# natively.

sqs_env() { # PORT
	printf "export HEADRACE_TEST_SQS='http://127.0.0.1:%s'\n" "$1"
}
