# shellcheck shell=bash
# ElasticMQ, a server that speaks SQS, for scripts/services: one process with its queues in files, because SQS forgets
# nothing. Its jars come from Maven Central, each with its SHA-256 in sqs.jars, and are kept in a cache outside of the
# checkout; a server runs from a copy in its own directory. It takes Java 11 or later.

# shellcheck source=scripts/services.d/jars.bash
. "$parts/jars.bash"

sqs_version=1.6.14

sqs_settings() { # PORT DIR
	cat <<CONF
include classpath("application.conf")
node-address { protocol = http, host = "127.0.0.1", port = $1, context-path = "" }
rest-sqs { enabled = true, bind-port = $1, bind-hostname = "127.0.0.1", sqs-limits = strict }
rest-stats { enabled = false }
queues-storage { enabled = true, path = "$2/queues.conf" }
messages-storage { enabled = true, uri = "jdbc:h2:file:$2/messages;WRITE_DELAY=0" }
CONF
}

sqs_up() {
	local libs user dir port try
	programs sqs default-jre-headless 'java=usr/lib/jvm/*/bin/java'
	libs=$(jars sqs "$sqs_version" <"$parts/sqs.jars")
	user=$(server_user nobody)
	dir=$(scratch "$user" sqs)
	# The cache may lie in a home that the server's user cannot enter.
	if ! cp -r -- "$libs" "$dir/libs" || ! chmod -R a+rX "$dir/libs"; then
		remove_scratch "$dir" sqs
		fail "sqs: cannot copy $libs into $dir"
	fi
	for try in 1 2 3; do
		port=${HEADRACE_SQS_PORT:-$(free_port)}
		sqs_settings "$port" "$dir" | (as "$user" tee "$dir/elasticmq.conf" >/dev/null)
		if sqs_start "$user" "$dir" "$port"; then
			return
		fi
		[ "$try" = 3 ] || grep -qs 'Address already in use\|BindException' "$dir/log" || break
	done
	tail -n 20 "$dir/log" >&2
	remove_scratch "$dir" sqs
	fail "ElasticMQ does not start"
}

# sqs_start USER DIR PORT: starts the server and waits until it answers.
sqs_start() {
	local user=$1 dir=$2 port=$3 pid n
	(as "$user" bash -c 'cd "$1" && : >log && { setsid java $jvm_options -Dconfig.file="$1/elasticmq.conf" \
		-cp "$1/libs/*" org.elasticmq.server.Main >>log 2>&1 </dev/null & } && echo $! >pid' sqs "$dir")
	pid=$(cat "$dir/pid")
	for ((n = 0; n < 3000; n++)); do
		sqs_runs "$pid" "$dir" || return 1
		if grep -qs 'ElasticMQ server.*started' "$dir/log" && port_answers "$port"; then
			state_write sqs how=native "port=$port" "user=$user" "dir=$dir" "pid=$pid"
			return 0
		fi
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
	return 1
}

# sqs_runs PID DIR: the process is there, is ours, and has not ended.
sqs_runs() {
	process_says "$1" "$2/"
}

# sqs_stop SIGNAL: and waits until it is gone.
sqs_stop() {
	local pid dir n
	pid=$(state_get sqs pid) dir=$(state_get sqs dir)
	sqs_runs "$pid" "$dir" || return 0
	kill "-$1" "$pid" 2>/dev/null || return 0
	for ((n = 0; n < 200; n++)); do
		sqs_runs "$pid" "$dir" || return 0
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
}

sqs_alive() {
	sqs_runs "$(state_get sqs pid)" "$(state_get sqs dir)" && port_answers "$(state_get sqs port)"
}

sqs_down() {
	sqs_stop TERM
	remove_scratch "$(state_get sqs dir)" sqs
}

sqs_restart() {
	sqs_stop KILL
	sqs_start "$(state_get sqs user)" "$(state_get sqs dir)" "$(state_get sqs port)" || {
		tail -n 20 "$(state_get sqs dir)/log" >&2
		fail "ElasticMQ does not start again"
	}
}

sqs_env() { # PORT
	printf "export HEADRACE_TEST_SQS='http://127.0.0.1:%s'\n" "$1"
}
