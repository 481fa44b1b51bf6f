package sqs

import "time"

// SetGone changes how long a queue may be gone.
func (s *Source) SetGone(d time.Duration) { s.gone = d }
