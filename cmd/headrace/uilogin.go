package main

import (
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/redact"
	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/login"
	"github.com/headrace/headrace/ui/who"
)

// loginFlags say how headrace ui knows people.
type loginFlags struct {
	header, groups, secret string
	roles                  []string
	tokens                 string
}

func (f *loginFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.header, "proxy-header", "", "the `header` in which a proxy names the person, such as X-Forwarded-User")
	flags.StringVar(&f.groups, "proxy-groups", "", "the `header` in which it lists the person's groups")
	flags.StringSliceVar(&f.roles, "role", nil, "the `role=group` of a group of the proxy; the role is viewer, operator or admin")
	flags.StringVar(&f.secret, "proxy-secret", "", "a `file` with what the proxy sends in "+login.SecretHeader)
	flags.StringVar(&f.tokens, "tokens", "", "a `file` with a line for each token: name, role, SHA-256")
	c.MarkFlagsMutuallyExclusive("tokens", "proxy-header")
	c.MarkFlagsRequiredTogether("proxy-header", "proxy-groups", "role")
}

// way is how people are known: without options, the link that is printed.
func (f *loginFlags) way(log *slog.Logger) (login.Way, error) {
	switch {
	case f.tokens != "":
		return login.NewTokens(f.tokens, log)
	case f.header != "":
		return f.proxy()
	case f.secret != "":
		return nil, usagef("--proxy-secret needs --proxy-header")
	}
	return login.NewLink(who.Person{Name: userName(), Role: who.Admin}), nil
}

func (f *loginFlags) proxy() (*login.Proxy, error) {
	o := login.ProxyOptions{User: f.header, Groups: f.groups, Roles: make(map[string]who.Role)}
	for _, pair := range f.roles {
		word, group, _ := strings.Cut(pair, "=")
		role, ok := who.Parse(word)
		if !ok {
			return nil, wrong("role", pair, "it must be role=group, with the role viewer, operator or admin")
		}
		o.Roles[group] = max(o.Roles[group], role)
	}
	if f.secret != "" {
		text, err := os.ReadFile(f.secret)
		if err != nil {
			return nil, err
		}
		if o.Secret = strings.TrimSpace(string(text)); o.Secret == "" {
			return nil, errors.New(f.secret + " has no secret")
		}
	}
	p, err := login.NewProxy(o)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return p, nil
}

// forEyes redacts what a page shows of a message.
func forEyes(rules *redact.Rules) func(ui.Content) ui.Content {
	return func(c ui.Content) ui.Content {
		return ui.Content{Payload: rules.Payload(c.Payload), Headers: rules.Headers(c.Headers)}
	}
}
