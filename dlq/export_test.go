package dlq

import "time"

// SetPatience shortens how long a commit is waited for.
func (d *Desk) SetPatience(p time.Duration) { d.patience = p }
