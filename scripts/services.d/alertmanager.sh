# shellcheck shell=bash
# Prometheus's Alertmanager, for scripts/services, and promtool in the path.

# shellcheck source=scripts/services.d/debian.bash
. "$parts/debian.bash"

alertmanager_up() {
	local user dir port try
	programs alertmanager 'prometheus prometheus-alertmanager' promtool=usr/bin/promtool prometheus-alertmanager=usr/bin/prometheus-alertmanager
	user=$(server_user prometheus)
	dir=$(scratch "$user" alertmanager)
	# What it is told is read back from it: it sends nothing to the receiver.
	printf '%s\n' 'route: {receiver: none, group_wait: 1s, group_interval: 1s}' 'global: {resolve_timeout: 2s}' 'receivers: [{name: none}]' |
		(as "$user" tee "$dir/alertmanager.yml" >/dev/null)
	for try in 1 2 3 4 5; do
		port=${HEADRACE_ALERTMANAGER_PORT:-$(free_port)}
		if alertmanager_start "$user" "$dir" "$port"; then
			return
		fi
		[ "$try" = 5 ] || grep -qs 'address already in use' "$dir/log" || break
	done
	tail -n 20 "$dir/log" >&2
	remove_scratch "$dir" alertmanager
	fail "Alertmanager does not start"
}

# alertmanager_start USER DIR PORT: starts the server and waits until it answers.
alertmanager_start() {
	local user=$1 dir=$2 port=$3 pid n
	# Debian's program reads templates from /usr/share, and has no option for another place: where it is unpacked
	# only, it sees the folder's /usr/share there.
	local share= path
	path=$(cat "$state/alertmanager.path" 2>/dev/null) || true
	if [ ! -e /usr/share/prometheus/alertmanager/default.tmpl ] && [ -n "$path" ]; then
		share=$(dirname "${path%%:*}")/usr/share
	fi
	(as "$user" bash -c 'cd "$1" && : >log && { setsid ${3:+unshare --user --map-root-user --mount sh -c "mount --bind \"\$0\" /usr/share && exec \"\$@\"" "$3"} prometheus-alertmanager --config.file="$1/alertmanager.yml" --storage.path="$1/data" \
		--web.listen-address="127.0.0.1:$2" --cluster.listen-address= >>log 2>&1 </dev/null & } && echo $! >pid' alertmanager "$dir" "$port" "$share")
	pid=$(cat "$dir/pid")
	for ((n = 0; n < 1500; n++)); do
		alertmanager_runs "$pid" || return 1
		if port_answers "$port"; then
			state_write alertmanager how=native "port=$port" "user=$user" "dir=$dir" "pid=$pid"
			return 0
		fi
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
	return 1
}

# alertmanager_runs PID: the process is there, is an Alertmanager, and has not ended.
alertmanager_runs() {
	process_says "$1" prometheus-alertmanager
}

alertmanager_alive() {
	alertmanager_runs "$(state_get alertmanager pid)" && port_answers "$(state_get alertmanager port)"
}

alertmanager_down() {
	local pid n
	pid=$(state_get alertmanager pid)
	if alertmanager_runs "$pid"; then
		kill -TERM "$pid" 2>/dev/null || true
		for ((n = 0; n < 100; n++)); do
			alertmanager_runs "$pid" || break
			sleep 0.1
		done
		kill -KILL "$pid" 2>/dev/null || true
	fi
	remove_scratch "$(state_get alertmanager dir)" alertmanager
}

alertmanager_env() { # PORT
	printf "export HEADRACE_TEST_ALERTMANAGER='http://127.0.0.1:%s'\n" "$1"
}
