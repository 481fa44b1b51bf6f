package rehearsal

import "errors"

// UnderWay reports whether err says that the process has another rehearsal under way.
func UnderWay(err error) bool { return errors.Is(err, errUnderWay) }

// Spread is spread.
var Spread = spread
