# shellcheck shell=bash
# The newest PostgreSQL, for scripts/services, whatever Debian has: the server programs that the project
# zonky publishes on Maven Central for tests, pinned by version and SHA-256. The download is kept in a cache
# outside of the checkout; only the copy that a server runs from is unpacked.
#
#   HEADRACE_CACHE  where downloads are kept; default $XDG_CACHE_HOME/headrace, else ~/.cache/headrace
#   HEADRACE_MAVEN  the repository; default https://repo1.maven.org/maven2, or what Maven itself is set to
#                   where mvn is installed

# shellcheck source=scripts/services.d/postgres.sh
. "$parts/postgres.sh"

postgres18_version=18.6.0

# postgres18_pin prints the artifact's platform and the SHA-256 of its jar.
postgres18_pin() {
	case $(uname -s)/$(uname -m) in
	Linux/x86_64) echo linux-amd64 008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1 ;;
	Linux/aarch64) echo linux-arm64v8 5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be ;;
	*) fail "postgres18: no server programs for $(uname -s) on $(uname -m); start one yourself and set HEADRACE_TEST_POSTGRES18" ;;
	esac
}

postgres18_cache() {
	local dir=${HEADRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/headrace}
	mkdir -p "$dir" || fail "postgres18: cannot make the cache $dir; set HEADRACE_CACHE"
	printf '%s\n' "$dir"
}

# postgres18_tools: what downloading and unpacking takes.
postgres18_tools() {
	local missing=()
	command -v curl >/dev/null || command -v wget >/dev/null || command -v mvn >/dev/null || missing+=(curl)
	command -v unzip >/dev/null || missing+=(unzip)
	command -v xz >/dev/null || missing+=(xz-utils)
	[ ${#missing[@]} -gt 0 ] || return 0
	may_install || fail "postgres18 needs: apt-get install ${missing[*]}"
	printf 'services: installing %s\n' "${missing[*]}" >&2
	apt_install "${missing[@]}"
}

# postgres18_get ARTIFACT FILE: downloads the jar, over Maven where it is installed and no repository is
# named, because it knows the mirrors that are set up here.
postgres18_get() {
	local artifact=$1 file=$2 base=${HEADRACE_MAVEN:-https://repo1.maven.org/maven2} url
	if [ -z "${HEADRACE_MAVEN:-}" ] && command -v mvn >/dev/null &&
		timeout 180 mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -DoutputDirectory="$file.d" \
			"-Dartifact=io.zonky.test.postgres:$artifact:$postgres18_version" >/dev/null 2>&1 </dev/null; then
		mv "$file.d/$artifact-$postgres18_version.jar" "$file" && rmdir "$file.d"
		return
	fi
	rm -rf -- "$file.d"
	url=$base/io/zonky/test/postgres/$artifact/$postgres18_version/$artifact-$postgres18_version.jar
	if command -v curl >/dev/null; then
		curl -fsSL --retry 2 --connect-timeout 20 --max-time 300 -o "$file" "$url" >&2
	else
		wget -q --tries=3 --timeout=60 -O "$file" "$url" >&2
	fi || fail "postgres18: cannot download $url; set HEADRACE_MAVEN to a mirror, or HEADRACE_TEST_POSTGRES18 to a server"
}

# postgres18_jar prints the path of the checked jar.
postgres18_jar() {
	local platform sum cache artifact jar got
	read -r platform sum <<<"$(postgres18_pin)"
	[ -n "$sum" ] || exit 1
	cache=$(postgres18_cache)
	artifact=embedded-postgres-binaries-$platform
	jar=$cache/$artifact-$postgres18_version.jar
	if [ ! -f "$jar" ]; then
		printf 'services: downloading PostgreSQL %s\n' "$postgres18_version" >&2
		postgres18_get "$artifact" "$jar.$$"
		mv "$jar.$$" "$jar"
	fi
	got=$(sha256sum "$jar" | cut -d' ' -f1)
	if [ "$got" != "$sum" ]; then
		rm -f -- "$jar"
		fail "postgres18: $jar has SHA-256 $got instead of $sum; it was removed"
	fi
	printf '%s\n' "$jar"
}

postgres18_up() {
	local jar user dir
	postgres18_tools
	jar=$(postgres18_jar)
	user=$(server_user postgres)
	dir=$(scratch "$user" postgres18)
	if ! { mkdir "$dir/programs" && unzip -p "$jar" 'postgres-*.txz' | tar -xJf - -C "$dir/programs" --no-same-owner &&
		chmod -R a+rX "$dir/programs"; }; then
		remove_scratch "$dir" postgres18
		fail "postgres18: cannot unpack $jar into $dir"
	fi
	CLUSTER_DIR=$dir cluster_up postgres18 "$dir/programs/bin" "${HEADRACE_POSTGRES18_PORT:-}"
}

postgres18_alive() {
	cluster_alive postgres18
}

postgres18_down() {
	cluster_down postgres18
}

postgres18_env() { # PORT
	printf "export HEADRACE_TEST_POSTGRES18='postgres://postgres@127.0.0.1:%s/headrace?sslmode=disable'\n" "$1"
}
