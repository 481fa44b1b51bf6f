# shellcheck shell=bash
# Servers on the JVM, for the files beside this: their jars come from Maven Central.

# shellcheck source=scripts/services.d/debian.bash
. "$parts/debian.bash"

# What java is given for a server. Without the second compiler (TieredStopAtLevel) a start takes half of the CPU time, and
# tests restart servers. It is exported for the shells that start them.
export jvm_options='-Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1'

# jars NAME VERSION < LIST: prints the directory of the jars that LIST names, from Maven Central or HEADRACE_MAVEN, once
# downloaded kept in the cache.
jars() {
	local dir
	dir=$(cache_dir)/$1-$2
	if [ ! -d "$dir" ]; then
		printf 'services: downloading %s %s\n' "$1" "$2" >&2
		(cd "$repo" && go run ./scripts/fetch "$dir" "${HEADRACE_MAVEN:-https://repo1.maven.org/maven2}") >&2 ||
			fail "$1: cannot download its jars; set HEADRACE_MAVEN to a mirror, or start a server yourself and set its variable"
	fi
	printf '%s\n' "$dir"
}
