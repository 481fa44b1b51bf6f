package reconcile

// A test passes the end of a page without a thousand messages.
func init() { page = 100 }
