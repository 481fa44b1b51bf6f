# shellcheck shell=bash
# NATS with JetStream, for scripts/services. Natively it is tests/natsd, the server as a Go module, built
# with the go command; Debian's nats-server is years older.

nats_up() {
	local user dir port try
	command -v go >/dev/null || fail "nats is built with go: put it into PATH, or start a server yourself and set HEADRACE_TEST_NATS"
	user=$(server_user nats)
	dir=$(scratch "$user" nats)
	if ! (cd "$repo" && go build -o "$dir/natsd" ./tests/natsd) >&2; then
		remove_scratch "$dir" nats
		fail "cannot build tests/natsd"
	fi
	chmod a+rx "$dir/natsd"
	for try in 1 2 3 4 5; do
		port=${HEADRACE_NATS_PORT:-$(free_port)}
		if nats_start "$user" "$dir" "$port"; then
			return
		fi
		[ "$try" = 5 ] || grep -q 'address already in use' "$dir/log" || break
	done
	tail -n 20 "$dir/log" >&2
	remove_scratch "$dir" nats
	fail "NATS does not start"
}

# nats_start USER DIR PORT: starts it and waits until JetStream serves.
nats_start() {
	local user=$1 dir=$2 port=$3 pid
	(as "$user" mkdir -p "$dir/data")
	: >"$dir/log"
	(as "$user" setsid "$dir/natsd" -js -sd "$dir/data" -P "$dir/data/pid" -a 127.0.0.1 -p "$port") >>"$dir/log" 2>&1 </dev/null &
	pid=$!
	for _ in $(seq 300); do
		if grep -q 'Server is ready' "$dir/log" && port_answers "$port"; then
			state_write nats how=native "port=$port" "user=$user" "dir=$dir" "pid=$(cat "$dir/data/pid")"
			return
		fi
		kill -0 "$pid" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

nats_alive() {
	local pid
	pid=$(state_get nats pid)
	[ -n "$pid" ] && [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$(state_get nats dir)/natsd" ] &&
		port_answers "$(state_get nats port)"
}

# nats_stop SIGNAL: and waits until it is gone.
nats_stop() {
	local pid
	pid=$(state_get nats pid)
	[ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$(state_get nats dir)/natsd" ] || return 0
	kill "-$1" "$pid" || return 0
	for _ in $(seq 200); do
		readlink "/proc/$pid/exe" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	kill -KILL "$pid" || true
}

nats_down() {
	nats_stop TERM
	remove_scratch "$(state_get nats dir)" nats
}

nats_restart() {
	nats_stop KILL
	nats_start "$(state_get nats user)" "$(state_get nats dir)" "$(state_get nats port)" ||
		fail "NATS does not start again: $(tail -n 5 "$(state_get nats dir)/log")"
}

nats_env() { # PORT
	printf "export HEADRACE_TEST_NATS='nats://127.0.0.1:%s'\n" "$1"
}
