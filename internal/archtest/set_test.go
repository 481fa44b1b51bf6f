package archtest

import "strings"

// Set names packages by pattern. Ours begin with "." ("." is the root), others are import paths. A pattern
// that ends in "/..." also names everything below.
type Set []string

const (
	// Ours names every package of the module.
	Ours = "./..."
	// ThirdParty names every package that is neither ours nor the standard library's.
	ThirdParty = "third-party"
)

// Has reports whether the set names the package at path.
func (s Set) Has(path string) bool {
	for _, pattern := range s {
		if matches(pattern, path) {
			return true
		}
	}
	return false
}

func matches(pattern, path string) bool {
	if pattern == ThirdParty {
		first, _, _ := strings.Cut(path, "/")
		return first != "." && strings.Contains(first, ".")
	}
	base, below := strings.CutSuffix(pattern, "/...")
	return path == base || below && strings.HasPrefix(path, base+"/")
}
