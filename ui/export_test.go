package ui

import "github.com/headrace/headrace/ui/who"

// Route is a route, for tests.
type Route struct {
	Method, Path string
	Needs        who.Role
}

// Routes are all of them.
var Routes = func() (all []Route) {
	for _, r := range routes {
		all = append(all, Route{r.method, r.path, r.needs})
	}
	return all
}()
