# shellcheck shell=bash
# Chromium, for scripts/services: a program that the tests of the pages start, and no server. With it comes axe, the
# checker of accessibility that runs inside of the browser: a file of the jar that its makers publish on Maven Central.

# shellcheck source=scripts/services.d/jars.bash
. "$parts/jars.bash"

axe_version=4.11.1

# No container has it: the tests start it by themselves.
chromium_is_a_program() { :; }

chromium_up() {
	local axe
	programs chromium 'chromium fonts-liberation' chromium=usr/lib/chromium/chromium
	axe=$(jars axe "$axe_version" <"$parts/axe.jars") || exit 1
	state_write chromium how=native "path=$(command -v chromium)" "axe=$axe/selenium-$axe_version.jar"
}

chromium_alive() {
	[ -x "$(state_get chromium path)" ] && [ -f "$(state_get chromium axe)" ]
}

chromium_down() { :; }

chromium_env() {
	printf "export HEADRACE_TEST_CHROMIUM='%s' HEADRACE_TEST_AXE='%s'\n" "$(state_get chromium path)" "$(state_get chromium axe)"
}
