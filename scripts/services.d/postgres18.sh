# shellcheck shell=bash
# The newest PostgreSQL, for scripts/services, whatever Debian has: the server programs that the project
# zonky publishes on Maven Central for tests, pinned by version and SHA-256. The download is kept in a cache
# outside of the checkout; only the copy that a server runs from is unpacked.

# shellcheck source=scripts/services.d/postgres.sh
. "$parts/postgres.sh"
# shellcheck source=scripts/services.d/jars.bash
. "$parts/jars.bash"

postgres18_version=18.6.0

# postgres18_pin prints the artifact and the SHA-256 of its jar.
postgres18_pin() {
	local artifact=embedded-postgres-binaries
	case $(uname -s)/$(uname -m) in
	Linux/x86_64) echo $artifact-linux-amd64 008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1 ;;
	Linux/aarch64) echo $artifact-linux-arm64v8 5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be ;;
	*) fail "postgres18: no server programs for $(uname -s) on $(uname -m); start one yourself and set HEADRACE_TEST_POSTGRES18" ;;
	esac
}

# postgres18_jar prints the path of the checked jar.
postgres18_jar() {
	local artifact sum dir
	read -r artifact sum <<<"$(postgres18_pin)"
	[ -n "$sum" ] || exit 1
	dir=$(jars "$artifact" "$postgres18_version" \
		<<<"$sum  io/zonky/test/postgres/$artifact/$postgres18_version/$artifact-$postgres18_version.jar") || exit 1
	printf '%s\n' "$dir"/*.jar
}

postgres18_up() {
	local jar user dir
	programs postgres18 'unzip xz-utils' unzip=usr/bin/unzip xz=usr/bin/xz
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
