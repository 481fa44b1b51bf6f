# shellcheck shell=bash
# ElasticMQ, a server that speaks SQS, for scripts/services: one process with its queues in memory. Its jars
# come from Maven Central by mvn, pinned by version and by the SHA-256 of them all, and are kept in a cache
# outside of the checkout; a server runs from a copy in its own directory. It takes Java 11 or later.
#
#   HEADRACE_CACHE  where downloads are kept; default $XDG_CACHE_HOME/headrace, else ~/.cache/headrace
#   HEADRACE_MAVEN  the repository; default what Maven itself is set to

sqs_version=1.6.14
sqs_sum=39fa99649647e2cff21f5aedc79477df53398ec21df663e610495b4bf102ae74

# sqs_tools: what downloading and running takes.
sqs_tools() {
	local missing=()
	command -v java >/dev/null || missing+=(default-jre-headless)
	[ -d "$(sqs_cache)" ] || command -v mvn >/dev/null || missing+=(maven)
	[ ${#missing[@]} -gt 0 ] || return 0
	may_install || fail "sqs (ElasticMQ) needs: apt-get install ${missing[*]}, or docker with its compose plugin"
	printf 'services: installing %s\n' "${missing[*]}" >&2
	apt-get update -qq >/dev/null 2>&1 </dev/null || true
	apt_install "${missing[@]}"
}

# sqs_cache prints where the jars are, or will be.
sqs_cache() {
	printf '%s/elasticmq-%s\n' "${HEADRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/headrace}" "$sqs_version"
}

sqs_pom() {
	local repository=
	[ -z "${HEADRACE_MAVEN:-}" ] ||
		repository="<repositories><repository><id>central</id><url>$HEADRACE_MAVEN</url></repository></repositories>"
	cat <<POM
<project><modelVersion>4.0.0</modelVersion><groupId>headrace</groupId><artifactId>sqs</artifactId><version>1</version>
$repository<dependencies>
<dependency><groupId>org.elasticmq</groupId><artifactId>elasticmq-server_2.13</artifactId><version>$sqs_version</version></dependency>
</dependencies></project>
POM
}

# sqs_libs prints the directory of the checked jars.
sqs_libs() {
	local dir got
	dir=$(sqs_cache)
	if [ ! -d "$dir" ]; then
		printf 'services: downloading ElasticMQ %s\n' "$sqs_version" >&2
		rm -rf -- "$dir.$$"
		mkdir -p "$dir.$$" || fail "sqs: cannot make $dir.$$; set HEADRACE_CACHE"
		sqs_pom >"$dir.$$/pom.xml"
		if ! (cd "$dir.$$" && timeout 600 mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
			-DoutputDirectory=. -DincludeScope=runtime >"$dir.$$.log" 2>&1 </dev/null); then
			tail -n 20 "$dir.$$.log" >&2
			rm -rf -- "$dir.$$" "$dir.$$.log"
			fail "sqs: cannot download ElasticMQ; set HEADRACE_MAVEN to a mirror, or HEADRACE_TEST_SQS to a server"
		fi
		rm -rf -- "$dir.$$.log" "$dir.$$/pom.xml" "$dir.$$/target"
		mv "$dir.$$" "$dir"
	fi
	got=$(cd "$dir" && LC_ALL=C sha256sum ./*.jar | sha256sum | cut -d' ' -f1)
	if [ "$got" != "$sqs_sum" ]; then
		rm -rf -- "$dir"
		fail "sqs: the jars in $dir have the sum $got instead of $sqs_sum; they were removed"
	fi
	printf '%s\n' "$dir"
}

sqs_settings() { # PORT
	cat <<CONF
include classpath("application.conf")
node-address { protocol = http, host = "127.0.0.1", port = $1, context-path = "" }
rest-sqs { enabled = true, bind-port = $1, bind-hostname = "127.0.0.1", sqs-limits = strict }
rest-stats { enabled = false }
CONF
}

sqs_up() {
	local libs user dir port try
	sqs_tools
	libs=$(sqs_libs)
	user=$(server_user nobody)
	dir=$(scratch "$user" sqs)
	# The cache may lie in a home that the server's user cannot enter.
	if ! cp -r -- "$libs" "$dir/libs" || ! chmod -R a+rX "$dir/libs"; then
		remove_scratch "$dir" sqs
		fail "sqs: cannot copy $libs into $dir"
	fi
	for try in 1 2 3; do
		port=${HEADRACE_SQS_PORT:-$(free_port)}
		sqs_settings "$port" | (as "$user" tee "$dir/elasticmq.conf" >/dev/null)
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
	(as "$user" bash -c 'cd "$1" && : >log && { setsid java -Xmx512m -XX:+UseSerialGC -Dconfig.file="$1/elasticmq.conf" \
		-cp "$1/libs/*" org.elasticmq.server.Main >>log 2>&1 </dev/null & } && echo $! >pid' sqs "$dir")
	pid=$(cat "$dir/pid")
	for ((n = 0; n < 600; n++)); do
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
