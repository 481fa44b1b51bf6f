# shellcheck shell=bash
# Apache Kafka, the real one: one node in KRaft mode, for scripts/services. Its jars come from Maven Central, each
# with its SHA-256 in kafka.jars, and are kept in a cache outside of the checkout;
# a server runs from a copy in its own directory. It takes a JDK or JRE of version 17 or later.

# shellcheck source=scripts/services.d/jars.bash
. "$parts/jars.bash"

kafka_version=4.1.1

kafka_settings() { # PORT CONTROLLER_PORT DIR
	cat <<CONF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$2
listeners=PLAINTEXT://127.0.0.1:$1,CONTROLLER://127.0.0.1:$2
advertised.listeners=PLAINTEXT://127.0.0.1:$1
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$3/data
# One node: what is replicated elsewhere has one copy here.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# A topic that nobody made is a mistake.
auto.create.topics.enable=false
# Tests wait for dead members.
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
CONF
	[ -z "${HEADRACE_KAFKA_TLS:-}" ] || kafka_tls "$1" "$2" "$3"
}

# kafka_tls: settings that come after those above, and replace some. For a test: besides, the server listens with
# TLS and SASL at HEADRACE_KAFKA_TLS, with the key and the certificate that are in the file HEADRACE_KAFKA_PEM.
kafka_tls() { # PORT CONTROLLER_PORT DIR
	cat <<CONF
listeners=PLAINTEXT://127.0.0.1:$1,CONTROLLER://127.0.0.1:$2,SASL_SSL://$HEADRACE_KAFKA_TLS
advertised.listeners=PLAINTEXT://127.0.0.1:$1,SASL_SSL://$HEADRACE_KAFKA_TLS
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL
ssl.keystore.type=PEM
ssl.keystore.location=$3/server.pem
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_teller="secret";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
CONF
}

kafka_up() {
	local libs user dir port controller try
	programs kafka default-jre-headless 'java=usr/lib/jvm/*/bin/java'
	programs kafka kcat kcat=usr/bin/kcat # tests send with it
	libs=$(jars kafka "$kafka_version" <"$parts/kafka.jars")
	user=$(server_user kafka)
	dir=$(scratch "$user" kafka)
	# The cache may lie in a home that the server's user cannot enter.
	if ! cp -r -- "$libs" "$dir/libs" || ! chmod -R a+rX "$dir/libs"; then
		remove_scratch "$dir" kafka
		fail "kafka: cannot copy $libs into $dir"
	fi
	if [ -n "${HEADRACE_KAFKA_TLS:-}" ]; then
		(umask 077 && as "$user" tee "$dir/server.pem" <"$HEADRACE_KAFKA_PEM" >/dev/null)
	fi
	for try in 1 2 3; do
		port=${HEADRACE_KAFKA_PORT:-$(free_port)}
		controller=$(free_port)
		kafka_settings "$port" "$controller" "$dir" | (as "$user" tee "$dir/server.properties" >/dev/null)
		(as "$user" rm -rf -- "$dir/data")
		if (as "$user" java -Xmx256m -XX:TieredStopAtLevel=1 -cp "$dir/libs/*" kafka.tools.StorageTool format \
			-t 4L6g3nShT-eMCtK--X86sw -c "$dir/server.properties" >"$dir/format.log" 2>&1 </dev/null) &&
			kafka_start "$user" "$dir" "$port"; then
			state_write kafka how=native "port=$port" "user=$user" "dir=$dir" "pid=$(cat "$dir/pid")"
			return
		fi
		[ "$try" = 3 ] || grep -qs 'Address already in use\|BindException' "$dir/log" || break
	done
	tail -n 20 "$dir/format.log" "$dir/log" >&2
	remove_scratch "$dir" kafka
	fail "Kafka does not start"
}

# kafka_start USER DIR PORT: starts the server and waits until it says that it serves.
kafka_start() {
	local user=$1 dir=$2 port=$3 pid n
	(as "$user" bash -c 'cd "$1" && : >log && { setsid java $jvm_options \
		-Dorg.slf4j.simpleLogger.showDateTime=true -cp "libs/*" kafka.Kafka server.properties >>log 2>&1 </dev/null & } &&
		echo $! >pid' kafka "$dir")
	pid=$(cat "$dir/pid")
	for ((n = 0; n < 1500; n++)); do
		kill -0 "$pid" 2>/dev/null || return 1
		if grep -qs 'Kafka Server started' "$dir/log" && port_answers "$port"; then
			return 0
		fi
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
	return 1
}

kafka_restart() {
	local user dir port pid
	user=$(state_get kafka user) dir=$(state_get kafka dir) port=$(state_get kafka port) pid=$(state_get kafka pid)
	kill -KILL "$pid" 2>/dev/null || true
	kafka_gone "$pid" 100 || fail "Kafka $pid cannot be killed"
	kafka_start "$user" "$dir" "$port" || {
		tail -n 20 "$dir/log" >&2
		fail "Kafka does not start again"
	}
	state_write kafka how=native "port=$port" "user=$user" "dir=$dir" "pid=$(cat "$dir/pid")"
}

# kafka_gone PID TENTHS: waits until the process has ended. One that nobody has reaped counts as ended.
kafka_gone() {
	local pid=$1 n
	for ((n = 0; n < $2; n++)); do
		kill -0 "$pid" 2>/dev/null || return 0
		case $(ps -o stat= -p "$pid" 2>/dev/null) in Z* | "") return 0 ;; esac
		sleep 0.1
	done
	return 1
}

kafka_alive() {
	kill -0 "$(state_get kafka pid)" 2>/dev/null && port_answers "$(state_get kafka port)"
}

kafka_down() {
	local pid
	pid=$(state_get kafka pid)
	if kill -TERM "$pid" 2>/dev/null && ! kafka_gone "$pid" 200; then
		kill -KILL "$pid" 2>/dev/null || true
		kafka_gone "$pid" 100 || fail "Kafka $pid does not stop"
	fi
	remove_scratch "$(state_get kafka dir)" kafka
}

kafka_env() { # PORT
	printf "export HEADRACE_TEST_KAFKA='127.0.0.1:%s'\n" "$1"
}
