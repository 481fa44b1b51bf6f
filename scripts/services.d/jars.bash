# shellcheck shell=bash
# Servers on the JVM, for the files beside this: their jars come from Maven Central by mvn.

# java_and_mvn WHAT DIR: what running WHAT takes, and, where DIR is not there yet, downloading it.
java_and_mvn() {
	local missing=()
	command -v java >/dev/null || missing+=(default-jre-headless)
	[ -d "$2" ] || command -v mvn >/dev/null || missing+=(maven)
	[ ${#missing[@]} -gt 0 ] || return 0
	may_install || fail "$1 needs: apt-get install ${missing[*]}, or docker with its compose plugin"
	printf 'services: installing %s\n' "${missing[*]}" >&2
	apt_install "${missing[@]}"
}

# jars NAME VERSION SUM GROUP:ARTIFACT:VERSION...: prints the directory of these jars and all that they need,
# from Maven Central or HEADRACE_MAVEN, once downloaded kept in the cache. SUM is the SHA-256 of their sums.
jars() {
	local name=$1 version=$2 sum=$3 dir got
	shift 3
	dir=${HEADRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/headrace}/$name-$version
	(java_and_mvn "$name" "$dir") >&2 || exit 1
	if [ ! -d "$dir" ]; then
		printf 'services: downloading %s %s\n' "$name" "$version" >&2
		rm -rf -- "$dir.$$"
		mkdir -p "$dir.$$" || fail "$name: cannot make $dir.$$; set HEADRACE_CACHE"
		pom "$@" >"$dir.$$/pom.xml"
		if ! (cd "$dir.$$" && timeout 600 mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
			-DoutputDirectory=. -DincludeScope=runtime >"$dir.$$.log" 2>&1 </dev/null); then
			tail -n 20 "$dir.$$.log" >&2
			rm -rf -- "$dir.$$" "$dir.$$.log"
			fail "$name: cannot download its jars; set HEADRACE_MAVEN to a mirror, or start a server yourself and set its variable"
		fi
		rm -rf -- "$dir.$$.log" "$dir.$$/pom.xml" "$dir.$$/target"
		mv "$dir.$$" "$dir"
	fi
	got=$(cd "$dir" && LC_ALL=C sha256sum ./*.jar | sha256sum | cut -d' ' -f1)
	if [ "$got" != "$sum" ]; then
		rm -rf -- "$dir"
		fail "$name: the jars in $dir have the sum $got instead of $sum; they were removed"
	fi
	printf '%s\n' "$dir"
}

pom() { # GROUP:ARTIFACT:VERSION...
	local group artifact version one
	printf '<project><modelVersion>4.0.0</modelVersion><groupId>headrace</groupId><artifactId>servers</artifactId><version>1</version>'
	[ -z "${HEADRACE_MAVEN:-}" ] ||
		printf '<repositories><repository><id>central</id><url>%s</url></repository></repositories>' "$HEADRACE_MAVEN"
	printf '<dependencies>'
	for one in "$@"; do
		IFS=: read -r group artifact version <<<"$one"
		printf '<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>' "$group" "$artifact" "$version"
	done
	printf '</dependencies></project>\n'
}
