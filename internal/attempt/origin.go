package attempt

import (
	"os"
	"runtime/debug"
)

// Host returns the name of the machine; "" if unknown.
func Host() string {
	host, _ := os.Hostname()
	return host
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
	if info.Main.Version == "(devel)" { // Go's word for a module that it knows no version of
		return ""
	}
	return info.Main.Version
}
