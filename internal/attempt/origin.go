package attempt

import (
	"os"
	"runtime/debug"
)

// Origin returns the host, and the build of the user's program: see Build. Unknown values
// are empty.
func Origin() (host, build string) {
	host, _ = os.Hostname()
	return host, Build()
}

// Build returns the build of the user's program: HEADRACE_BUILD, else its VCS revision or
// the module's version; "" if unknown.
func Build() string {
	if build := os.Getenv("HEADRACE_BUILD"); build != "" {
		return build
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return info.Main.Version
}
