# shellcheck shell=bash
# PostgreSQL, for scripts/services. Durable as in production (fsync and synchronous_commit stay on): the
# tests are about commits. Without a unix socket: one way in, whatever the length of TMPDIR.

# shellcheck source=scripts/services.d/debian.bash
. "$parts/debian.bash"

postgres_settings() { # PORT
	cat <<CONF
port = $1
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 400
shared_buffers = 256MB
max_wal_size = 2GB
fsync = on
synchronous_commit = on
timezone = 'UTC'
log_timezone = 'UTC'
CONF
}

# postgres_bin prints the directory that holds the newest initdb, or the one HEADRACE_POSTGRES_BIN names.
postgres_bin() {
	local found
	found=$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)
	if [ -n "${HEADRACE_POSTGRES_BIN:-}" ]; then
		printf '%s\n' "$HEADRACE_POSTGRES_BIN"
	elif [ -x "$found" ]; then
		dirname "$found"
	elif found=$(command -v initdb); then
		dirname "$(readlink -f "$found")" # perhaps scripts that programs has made
	else
		return 1
	fi
}

postgres_install() {
	printf 'services: installing postgresql\n' >&2
	# The package would create and start a cluster of its own: it is told not to, before it comes.
	apt_install postgresql-common
	if [ -f /etc/postgresql-common/createcluster.conf ]; then
		sed -i 's/^#\? *create_main_cluster *=.*/create_main_cluster = false/' \
			/etc/postgresql-common/createcluster.conf
	fi
	apt_install postgresql
}

postgres_up() {
	local bin
	[ -z "${HEADRACE_POSTGRES_BIN:-}" ] || [ -x "$HEADRACE_POSTGRES_BIN/initdb" ] ||
		fail "no initdb in HEADRACE_POSTGRES_BIN, $HEADRACE_POSTGRES_BIN"
	if ! bin=$(postgres_bin); then
		if may_install; then
			postgres_install
		else
			local program all=()
			for program in initdb postgres pg_ctl pg_dump psql; do # tests copy clusters with the last two
				all+=("$program=usr/lib/postgresql/*/bin/$program")
			done
			programs postgres postgresql "${all[@]}"
		fi
		bin=$(postgres_bin) || fail "there is no initdb in /usr/lib/postgresql or the path"
	fi
	cluster_up postgres "$bin" "${HEADRACE_POSTGRES_PORT:-}"
}

postgres_alive() {
	cluster_alive postgres
}

postgres_down() {
	cluster_down postgres
}

postgres_env() { # PORT
	printf "export HEADRACE_TEST_POSTGRES='postgres://postgres@127.0.0.1:%s/headrace?sslmode=disable'\n" "$1"
}

# --- a cluster of any version, also for postgres18.sh ----------------------------------------------

# cluster_up NAME BIN [PORT]: makes a cluster with the programs in BIN and starts it. BIN may lie in the
# cluster's own directory, CLUSTER_DIR, which is removed with it.
cluster_up() {
	local name=$1 bin=$2 fixed=${3:-} user dir=${CLUSTER_DIR:-} port try
	user=$(server_user postgres)
	[ -n "$dir" ] || dir=$(scratch "$user" "$name")
	if ! (as "$user" "$bin/initdb" --pgdata="$dir/data" --username=postgres --auth=trust \
		--encoding=UTF8 --no-locale --no-sync >"$dir/initdb.log" 2>&1 </dev/null) ||
		! (echo 'CREATE DATABASE headrace' |
			as "$user" "$bin/postgres" --single -D "$dir/data" -c exit_on_error=on postgres >>"$dir/initdb.log" 2>&1); then
		cat "$dir/initdb.log" >&2
		remove_scratch "$dir" "$name"
		fail "PostgreSQL cannot create its files in $dir"
	fi
	for try in 1 2 3 4 5; do
		port=${fixed:-$(free_port)}
		postgres_settings "$port" | (as "$user" tee -a "$dir/data/postgresql.conf" >/dev/null)
		if (as "$user" "$bin/pg_ctl" --pgdata="$dir/data" --log="$dir/log" --wait --timeout=60 start >/dev/null 2>&1 </dev/null); then
			state_write "$name" how=native "port=$port" "user=$user" "dir=$dir" "bin=$bin"
			return
		fi
		[ "$try" = 5 ] || grep -q 'could not bind' "$dir/log" || break
	done
	tail -n 20 "$dir/log" >&2
	remove_scratch "$dir" "$name"
	fail "PostgreSQL does not start"
}

cluster_ctl() { # NAME ARGUMENT...
	local name=$1 dir
	shift
	dir=$(state_get "$name" dir)
	(as "$(state_get "$name" user)" "$(state_get "$name" bin)/pg_ctl" --pgdata="$dir/data" "$@" >/dev/null 2>&1 </dev/null)
}

# A killed postmaster that nobody has reaped still has its process id: the port has to answer too.
cluster_alive() { # NAME
	cluster_ctl "$1" status && port_answers "$(state_get "$1" port)"
}

cluster_down() { # NAME
	if cluster_alive "$1"; then
		cluster_ctl "$1" stop --mode=fast --wait --timeout=20 ||
			cluster_ctl "$1" stop --mode=immediate --wait --timeout=20 ||
			fail "PostgreSQL in $(state_get "$1" dir) does not stop"
	else
		cluster_ctl "$1" stop --mode=immediate --wait --timeout=2 || true
	fi
	remove_scratch "$(state_get "$1" dir)" "$1"
}
