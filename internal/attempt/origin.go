package attempt

import (
	"os"
	"runtime/debug"
)

// Origin returns the host, and the build of the user's program: HEADRACE_BUILD, else its
// VCS revision or the module's version. Unknown values are empty.
func Origin() (host, build string) {
	host, _ = os.Hostname()
	if build = os.Getenv("HEADRACE_BUILD"); build != "" {
		return host, build
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return host, ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return host, s.Value
		}
	}
	return host, info.Main.Version
}
