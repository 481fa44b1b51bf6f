package asked

import (
	"testing"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/redriving"
)

// A request that has expired leads to no form: it does not say any more of what it was.
func TestFormOfAnExpiredRequest(t *testing.T) {
	for args, path := range map[string]string{`{"id":7}`: "r/7", "null": ""} {
		if f := FormOf(instance.Request{Kind: redriving.KindApply, Args: []byte(args)}); f.Path != path {
			t.Errorf("%s leads to %q, not %q", args, f.Path, path)
		}
	}
}
