package attempt

import (
	"os"
	"runtime/debug"
)

// Origin says who runs: the host, and which build of the user's program, by the
// revision that it was built from or the module's version. What is not known is empty.
func Origin() (host, build string) {
	host, _ = os.Hostname()
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
