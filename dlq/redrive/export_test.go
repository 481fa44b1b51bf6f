package redrive

import "time"

// SetStoreTimeout shortens how long a commit is waited for.
func (a *Admin) SetStoreTimeout(d time.Duration) { a.storeTimeout = d }
