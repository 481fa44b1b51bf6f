# shellcheck shell=bash
# RabbitMQ, for scripts/services. Natively it is Debian's package rabbitmq-server, as a node of its own: own
# port, own files, own cookie and own epmd, so that it meets no other.

# The management API answers on the port above the broker's.
rabbitmq_port=$(state_get rabbitmq port)
export HEADRACE_RABBITMQ_PORT=${rabbitmq_port:-${HEADRACE_RABBITMQ_PORT:-$(free_port)}}
export HEADRACE_RABBITMQ_MANAGEMENT_PORT=${HEADRACE_RABBITMQ_MANAGEMENT_PORT:-$((HEADRACE_RABBITMQ_PORT + 1))}

# shellcheck source=scripts/services.d/debian.bash
. "$parts/debian.bash"

# rabbitmq_bin prints the directory of the server's scripts, which may be run by any user (those in
# /usr/sbin insist on root or rabbitmq).
rabbitmq_bin() {
	local root
	root=$(command -v rabbitmq-server) || true
	case $root in */run/rabbitmq-server) root=${root%/run/*} ;; *) root= ;; esac
	[ -x "$root/usr/lib/rabbitmq/bin/rabbitmq-server" ] && command -v erl >/dev/null && printf '%s/usr/lib/rabbitmq/bin\n' "$root"
}

# rabbitmq_programs: the server, and what tests send with.
rabbitmq_programs() {
	local packages='rabbitmq-server amqp-tools' programs=(amqp-publish=usr/bin/amqp-publish amqp-get=usr/bin/amqp-get)
	if rabbitmq_bin >/dev/null; then
		packages=amqp-tools
	else
		programs+=(rabbitmq-server=usr/lib/rabbitmq/bin/rabbitmq-server erl=usr/lib/erlang/bin/erl epmd=usr/lib/erlang/bin/epmd escript=usr/lib/erlang/bin/escript)
	fi
	programs rabbitmq "$packages" "${programs[@]}"
	# Debian's erl has the place where it is installed in its text.
	local root
	root=$(dirname "$(dirname "$(command -v erl)")")/usr/lib/erlang
	[ ! -d "$root" ] || sed -i "s|=/usr/lib/erlang\$|=$root|" "$root"/bin/erl "$root"/erts-*/bin/erl
}

# rabbitmq_variables DIR PORT DIST EPMD: what makes a node of its own.
rabbitmq_variables() {
	cat <<ENV
HOME=$1
RABBITMQ_NODENAME=headrace@localhost
RABBITMQ_NODE_IP_ADDRESS=127.0.0.1
RABBITMQ_NODE_PORT=$2
RABBITMQ_DIST_PORT=$3
RABBITMQ_MNESIA_BASE=$1/mnesia
RABBITMQ_LOG_BASE=$1/log
RABBITMQ_PID_FILE=$1/pid
RABBITMQ_CONFIG_FILE=$1/rabbitmq.conf
RABBITMQ_ENABLED_PLUGINS_FILE=$1/enabled_plugins
RABBITMQ_CONF_ENV_FILE=$1/none
ERL_EPMD_ADDRESS=127.0.0.1
ERL_EPMD_PORT=$4
LANG=C.UTF-8
PATH=$PATH
ENV
}

# rabbitmq_files DIR USER BIN PORT DIST EPMD: what the node reads, and ctl, rabbitmqctl of this node.
rabbitmq_files() {
	local dir=$1 user=$2 bin=$3 variables
	mapfile -t variables < <(rabbitmq_variables "$dir" "$4" "$5" "$6")
	# The limit of a message is that of RabbitMQ 4. The management API is up to date within half a second (see also quorum_tick_interval).
	printf '%s\n' 'max_message_size = 16777216' 'collect_statistics_interval = 250' \
		'management.tcp.ip = 127.0.0.1' "management.tcp.port = $HEADRACE_RABBITMQ_MANAGEMENT_PORT" |
		(as "$user" tee "$dir/rabbitmq.conf" >/dev/null)
	printf '[rabbitmq_management].\n' | (as "$user" tee "$dir/enabled_plugins" >/dev/null)
	printf '%s\n' '#!/bin/sh' 'cd /' "exec env $(printf "'%s' " "${variables[@]}")$bin/rabbitmqctl \"\$@\"" |
		(as "$user" tee "$dir/ctl" >/dev/null)
	(as "$user" chmod 755 "$dir/ctl")
	# A channel looks every second for deliveries past their time, instead of every minute.
	printf '%s\n' '#!/bin/sh' 'cd /' "exec env $(printf "'%s' " "${variables[@]}")RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-rabbit channel_tick_interval 1000 -rabbit quorum_tick_interval 250' $bin/rabbitmq-server" |
		(as "$user" tee "$dir/run" >/dev/null)
	(as "$user" chmod 755 "$dir/run")
}

# rabbitmq_start: starts the node, and waits until it answers.
rabbitmq_start() {
	local dir user try started
	dir=$(state_get rabbitmq dir)
	user=$(state_get rabbitmq user)
	(as "$user" rm -f "$dir/pid")
	(as "$user" setsid "$dir/run") >>"$dir/out" 2>&1 </dev/null &
	started=$!
	for ((try = 0; try < 1800; try++)); do
		! port_answers "$(state_get rabbitmq port)" || ! port_answers "$HEADRACE_RABBITMQ_MANAGEMENT_PORT" || return 0
		kill -0 "$started" 2>/dev/null || break # it has ended; on a busy machine its process id is written late
		sleep 0.1
	done
	tail -n 20 "$dir/out" >&2
	return 1
}

rabbitmq_up() {
	local bin user dir port dist epmd
	rabbitmq_programs
	bin=$(rabbitmq_bin) || fail "rabbitmq-server is there, but not in /usr/lib/rabbitmq/bin"
	user=$(server_user rabbitmq)
	dir=$(scratch "$user" rabbitmq)
	port=$HEADRACE_RABBITMQ_PORT
	dist=$(free_port)
	epmd=$(free_port)
	rabbitmq_files "$dir" "$user" "$bin" "$port" "$dist" "$epmd"
	state_write rabbitmq how=native "port=$port" "user=$user" "dir=$dir" "epmd=$epmd"
	if ! rabbitmq_start; then
		rabbitmq_down
		rm -f "$(state_file rabbitmq)"
		fail "RabbitMQ does not start"
	fi
}

# rabbitmq_restart: as abruptly as can be.
rabbitmq_restart() {
	rabbitmq_stop KILL
	rabbitmq_start || fail "RabbitMQ does not start again"
}

# rabbitmq_process: the node's process lives, whether or not it answers.
rabbitmq_process() {
	local pid
	pid=$(cat "$(state_get rabbitmq dir)/pid" 2>/dev/null) && [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null
}

rabbitmq_alive() {
	rabbitmq_process && port_answers "$(state_get rabbitmq port)"
}

# rabbitmq_stop SIGNAL: and waits until it is gone.
rabbitmq_stop() {
	local dir pid try
	dir=$(state_get rabbitmq dir)
	pid=$(cat "$dir/pid" 2>/dev/null) && [ -n "$pid" ] || return 0
	# The process id is the node's only while its files are open in it.
	tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$dir" || return 0
	kill "-$1" "$pid" 2>/dev/null || return 0
	for ((try = 0; try < 200; try++)); do
		kill -0 "$pid" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
}

rabbitmq_down() {
	local user
	user=$(state_get rabbitmq user)
	rabbitmq_stop TERM
	(as "$user" env ERL_EPMD_ADDRESS=127.0.0.1 "ERL_EPMD_PORT=$(state_get rabbitmq epmd)" epmd -kill >/dev/null 2>&1) || true
	remove_scratch "$(state_get rabbitmq dir)" rabbitmq
}

rabbitmq_env() { # PORT
	printf "export HEADRACE_TEST_RABBITMQ='amqp://guest:guest@127.0.0.1:%s/'\n" "$1"
	printf "export HEADRACE_TEST_RABBITMQ_MANAGEMENT='http://guest:guest@127.0.0.1:%s'\n" "$HEADRACE_RABBITMQ_MANAGEMENT_PORT"
	case $(state_get rabbitmq how) in
	native) printf "export HEADRACE_TEST_RABBITMQ_CTL='%s/ctl'\n" "$(state_get rabbitmq dir)" ;;
	docker) printf "export HEADRACE_TEST_RABBITMQ_CTL='docker exec %s rabbitmqctl'\n" "$(compose ps --quiet rabbitmq)" ;;
	esac
}
