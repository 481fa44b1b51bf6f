# shellcheck shell=bash
# Servers and tools from Debian's packages without installing them, for the files beside this: the packages
# are downloaded with package lists of our own and unpacked into the cache, as any user. The system stays as
# it is.

# cache_dir prints where downloads are kept.
cache_dir() {
	printf '%s\n' "${HEADRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/headrace}"
}

# unpack_dir prints where packages are unpacked: a folder that the servers' users can enter, too.
unpack_dir() {
	local release
	release=$(. /etc/os-release && printf '%s-%s' "${ID:-}" "${VERSION_ID:-}")
	if [ -n "${HEADRACE_CACHE:-}" ] || [ "$(id -u)" -ne 0 ]; then
		printf '%s/%s\n' "$(cache_dir)" "$release"
	else
		printf '/var/cache/headrace/%s\n' "$release"
	fi
}

# unpacked PACKAGE...: prints the folder in which the packages, and those that they need and the system does not
# have, are unpacked. It fails where there is no apt-get.
unpacked() {
	local dir root work
	dir=$(unpack_dir)
	root=$dir/$(printf '%s\n' "$@" | paste -sd+)
	if [ ! -d "$root" ]; then
		command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
			fail "there is no apt-get here: install $* yourself, or docker with its compose plugin"
		printf 'services: unpacking %s into %s\n' "$*" "$root" >&2
		mkdir -p "$dir" || fail "cannot make $dir; set HEADRACE_CACHE"
		work=$(mktemp -d "$dir/work.XXXXXX")
		if ! (unpack "$work" "$@") >"$work/log" 2>&1 </dev/null; then
			tail -n 20 "$work/log" >&2
			rm -rf -- "$work"
			fail "cannot download or unpack $*; install them yourself, or docker with its compose plugin"
		fi
		chmod -R a+rX "$work/root"
		rm -rf -- "$root.old"
		mv "$work/root" "$root"
		rm -rf -- "$work"
	fi
	printf '%s\n' "$root"
}

# unpack WORK PACKAGE...: downloads into WORK, and unpacks into WORK/root.
unpack() {
	set -e
	local work=$1 deb link to
	shift
	mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/root"
	local apt=(apt-get -qq -y -o "Dir::State=$work/state" -o Dir::State::status=/var/lib/dpkg/status -o "Dir::Cache=$work/cache"
		-o "APT::Sandbox::User=$(id -un)" -o Debug::NoLocking=1 -o APT::Keep-Downloaded-Packages=true -o DPkg::Post-Invoke=
		-o APT::Update::Post-Invoke= -o APT::Update::Post-Invoke-Success=)
	"${apt[@]}" update
	"${apt[@]}" install --download-only --reinstall --no-install-recommends "$@"
	for deb in "$work"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
	# Links into the system lead into the folder instead, where it has what they lead to.
	while IFS= read -r -d '' link; do
		to=$(readlink "$link")
		[ ! -e "$work/root$to" ] || ln -sfn "$(realpath -m -s --relative-to="$(dirname "$link")" "$work/root$to")" "$link"
	done < <(find "$work/root" -type l -lname '/*' -print0)
}

# programs NAME "PACKAGE..." PROGRAM=PATH...: sees to it that the PROGRAMs are in the path. They are there; or
# root may install the PACKAGEs; or the packages are unpacked, where PATH is that of the program, perhaps with a *.
# What was put into the path for the server NAME stands in $state/NAME.path.
programs() {
	local name=$1 packages one missing=
	read -ra packages <<<"$2"
	shift 2
	for one in "$@"; do
		command -v "${one%%=*}" >/dev/null || missing=1
	done
	[ -n "$missing" ] || return 0
	if may_install; then
		printf 'services: installing %s\n' "${packages[*]}" >&2
		quietly_install "${packages[@]}"
		return
	fi
	local root before
	before=$(cat "$state/$name.path" 2>/dev/null) || true
	root=$(unpacked "${packages[@]}") || exit 1
	wrap "$root" "$@" || fail "$name: $root has not all of: $*"
	export PATH=$root/run:$PATH
	printf '%s\n' "$root/run${before:+:$before}" >"$state/$name.path"
}

# quietly_install PACKAGE...: a package would start a server of its own, on the usual port; it is told not to.
quietly_install() {
	local policy=/usr/sbin/policy-rc.d own= status=0
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod +x "$policy"
		own=1
	fi
	(apt_install "$@") || status=$?
	[ -z "$own" ] || rm -f "$policy"
	return "$status"
}

# wrap ROOT PROGRAM=PATH...: makes scripts in ROOT/run that start these programs of ROOT with its libraries and
# with ROOT/run in the path.
wrap() {
	local root=$1 run=$1/run libraries one found script
	shift
	libraries=$(find "$root/usr/lib" "$root/lib" -maxdepth 1 -type d -name '*-linux-gnu' 2>/dev/null | paste -sd:)
	mkdir -p "$run"
	for one in "$@"; do
		[ ! -x "$run/${one%%=*}" ] || continue
		found=$(cd "$root" && compgen -G "${one#*=}" | sort -V | tail -n 1)
		[ -n "$found" ] || return 1
		script=$(mktemp "$run/.script.XXXXXX")
		printf '%s\n' '#!/bin/sh' "export LD_LIBRARY_PATH='$libraries'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} PATH='$run':\"\$PATH\"" \
			"exec '$root/$found' \"\$@\"" >"$script"
		chmod 755 "$script"
		mv "$script" "$run/${one%%=*}"
	done
}
