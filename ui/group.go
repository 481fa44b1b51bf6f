package ui

import (
	"net/http"
	"slices"
	"strings"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/ui/view"
	"github.com/headrace/headrace/ui/who"
)

// theGroup returns the group that a request names, and whether it is the only one; otherwise it has
// answered.
func (v *visit) theGroup() (g groups.Group, only bool, err error) {
	digits := v.r.PathValue("fingerprint")
	if !inspect.Digits(digits) || len(digits) > inspect.AllDigits {
		return g, false, refuse(http.StatusNotFound, "A group is named by at least %d hexadecimal digits.", inspect.LeastDigits)
	}
	f := groups.Filter{Consumer: v.r.Form.Get("consumer"), Handler: v.r.Form.Get("handler"), Closed: true}
	if len(digits) == inspect.AllDigits {
		f.ErrorFingerprint = digits
	}
	list, err := v.s.st.Operations().Groups.List(v.ctx(), f)
	if err != nil {
		return g, false, err
	}
	list = slices.DeleteFunc(list, func(g groups.Group) bool { return !strings.HasPrefix(g.ErrorFingerprint, digits) })
	switch {
	case len(list) == 0:
		return g, false, refuse(http.StatusNotFound, "There is no such group: it never was, or retention has removed it.")
	case len(list) > 1:
		return g, false, v.page(http.StatusOK, "choose", "Which group?", "search", list)
	}
	return list[0], true, nil
}

func group(v *visit) error {
	g, only, err := v.theGroup()
	if err != nil || !only {
		return err
	}
	return v.showGroup(g, http.StatusOK)
}

// showGroup shows a group.
func (v *visit) showGroup(g groups.Group, status int) error {
	d, err := v.s.read.Group(v.ctx(), g)
	if err != nil {
		return err
	}
	return v.page(status, "group", encode.Short(view.Dash(g.Sample), 60), "search", d)
}

// sharedPage shows what the letters of a group share. A viewer sees places, and no values.
func sharedPage(v *visit) error {
	g, only, err := v.theGroup()
	if err != nil || !only {
		return err
	}
	values := v.who.Role.May(who.Operator) && v.s.o.Redact != nil
	s, err := inspect.ReadShared(v.ctx(), v.s.st, g, func(payload []byte, headers map[string]string) ([]byte, map[string]string) {
		if v.s.o.Redact == nil {
			return payload, headers
		}
		c := v.s.o.Redact(Content{Payload: payload, Headers: headers})
		return c.Payload, c.Headers
	})
	if err != nil {
		return err
	}
	if !values {
		s.Traits = view.Places(s.Traits)
	}
	d := struct {
		groups.Group
		inspect.Shared
		Values bool
		Rows   []view.Trait
	}{g, s, values, view.TraitsOf(s)}
	return v.page(http.StatusOK, "shared", "What they share", "search", d)
}
