package task

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Label names the handler for people, with its topic if that is another one.
func (h *Handler) Label() string {
	if h.Topic == "" || h.Topic == h.Name {
		return strconv.Quote(h.Name)
	}
	return fmt.Sprintf("%q (of topic %q)", h.Name, h.Topic)
}

// Labels names handlers, the same ones always alike.
func Labels[H interface{ Label() string }](handlers []H) string {
	var labels []string
	for _, h := range handlers {
		labels = append(labels, h.Label())
	}
	slices.Sort(labels)
	return strings.Join(labels, ", ")
}
