# shellcheck shell=bash
# Redis, for scripts/services, with what it was told on disk: the append-only file is written before it
# answers, so a killed server forgets nothing (a machine that loses power, up to a second).

# shellcheck source=scripts/services.d/debian.bash
. "$parts/debian.bash"

redis_settings() { # PORT DIR
	cat <<CONF
port $1
bind 127.0.0.1
dir $2
save ""
appendonly yes
appendfsync everysec
maxmemory-policy noeviction
daemonize no
CONF
}

redis_up() {
	local user dir port try
	programs redis 'redis-server redis-tools' redis-server=usr/bin/redis-server redis-cli=usr/bin/redis-cli # tests send with redis-cli
	user=$(server_user redis)
	dir=$(scratch "$user" redis)
	for try in 1 2 3 4 5; do
		port=${HEADRACE_REDIS_PORT:-$(free_port)}
		redis_settings "$port" "$dir" | (as "$user" tee "$dir/redis.conf" >/dev/null)
		if redis_start "$user" "$dir" "$port"; then
			return
		fi
		[ "$try" = 5 ] || grep -qs 'Address already in use' "$dir/log" || break
	done
	tail -n 20 "$dir/log" >&2
	remove_scratch "$dir" redis
	fail "Redis does not start"
}

# redis_start USER DIR PORT: starts the server and waits until it answers.
redis_start() {
	local user=$1 dir=$2 port=$3 pid n
	(as "$user" bash -c 'cd "$1" && : >log && { setsid redis-server "$1/redis.conf" >>log 2>&1 </dev/null & } && echo $! >pid' redis "$dir")
	pid=$(cat "$dir/pid")
	for ((n = 0; n < 1500; n++)); do
		redis_runs "$pid" || return 1
		if grep -qs 'Ready to accept connections' "$dir/log" && port_answers "$port"; then
			state_write redis how=native "port=$port" "user=$user" "dir=$dir" "pid=$pid"
			return 0
		fi
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
	return 1
}

# redis_runs PID: the process is there, is a Redis, and has not ended.
redis_runs() {
	process_says "$1" redis-server
}

# redis_stop SIGNAL: and waits until it is gone.
redis_stop() {
	local pid n
	pid=$(state_get redis pid)
	redis_runs "$pid" || return 0
	kill "-$1" "$pid" 2>/dev/null || return 0
	for ((n = 0; n < 200; n++)); do
		redis_runs "$pid" || return 0
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
}

redis_alive() {
	redis_runs "$(state_get redis pid)" && port_answers "$(state_get redis port)"
}

redis_down() {
	redis_stop TERM
	remove_scratch "$(state_get redis dir)" redis
}

redis_restart() {
	redis_stop KILL
	redis_start "$(state_get redis user)" "$(state_get redis dir)" "$(state_get redis port)" || {
		tail -n 20 "$(state_get redis dir)/log" >&2
		fail "Redis does not start again"
	}
}

redis_env() { # PORT
	printf "export HEADRACE_TEST_REDIS='127.0.0.1:%s'\n" "$1"
}
