package login

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/headrace/headrace/ui/who"
)

const (
	// SecretHeader is the header in which a proxy proves itself.
	SecretHeader = "Headrace-Proxy-Secret"

	leastSecret = 20 // bytes of a secret or a token
)

// ProxyOptions says what a proxy sends.
type ProxyOptions struct {
	// User is the header with the person's name, for example X-Forwarded-User. The proxy must remove what a
	// client sends in it, and in Groups.
	User string
	// Groups is the header with the person's groups, separated by commas.
	Groups string
	// Roles has the role of each group that has one. Of several the greatest counts.
	Roles map[string]who.Role
	// Secret is the value of [SecretHeader], at least 20 bytes. If it is empty, the proxy is believed on this
	// machine alone; if it is set, it is required there too.
	Secret string
}

// Proxy believes the headers of a proxy that signs people in. A range of addresses would be no proof: in a cluster
// every process is inside of it.
type Proxy struct {
	o      ProxyOptions
	secret [sha256.Size]byte
}

// NewProxy returns an error if an option is missing or wrong.
func NewProxy(o ProxyOptions) (*Proxy, error) {
	switch {
	case o.User == "" || o.Groups == "":
		return nil, errors.New("login: a proxy needs a header for the name, and one for the groups")
	case len(o.Roles) == 0:
		return nil, errors.New("login: no group has a role, so each request would be refused")
	case o.Secret != "" && len(o.Secret) < leastSecret:
		return nil, fmt.Errorf("login: the proxy's secret has %d bytes, at least %d are needed", len(o.Secret), leastSecret)
	}
	for group, role := range o.Roles {
		if !role.May(who.Viewer) || group == "" || group != strings.TrimSpace(group) || strings.Contains(group, ",") {
			return nil, fmt.Errorf("login: group %q with role %q can never apply", group, role)
		}
	}
	return &Proxy{o: o, secret: sha256.Sum256([]byte(o.Secret))}, nil
}

// Identify returns the person that the proxy names, with the greatest role of the groups. It does not know a
// request that is not the proxy's, that names no person or several, or a person without a role.
func (p *Proxy) Identify(r *http.Request) (who.Person, error) {
	if !p.proven(r) {
		return who.Person{}, who.ErrUnknown
	}
	names := r.Header.Values(p.o.User)
	if len(names) != 1 || !who.Fit(names[0]) {
		return who.Person{}, who.ErrUnknown
	}
	person := who.Person{Name: names[0]}
	for _, list := range r.Header.Values(p.o.Groups) {
		for group := range strings.SplitSeq(list, ",") {
			person.Role = max(person.Role, p.o.Roles[strings.TrimSpace(group)])
		}
	}
	if person.Role == 0 {
		return who.Person{}, fmt.Errorf("%q is in no group with a role: %w", person.Name, who.ErrUnknown)
	}
	return person, nil
}

// proven reports whether the request comes from the proxy.
func (p *Proxy) proven(r *http.Request) bool {
	if p.o.Secret == "" {
		return onMachine(r)
	}
	hash := sha256.Sum256([]byte(strings.Join(r.Header.Values(SecretHeader), ",")))
	return subtle.ConstantTimeCompare(hash[:], p.secret[:]) == 1
}

// Handler refuses requests that the proxy does not vouch for.
func (p *Proxy) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := p.Identify(r); err != nil {
			refuse(w, http.StatusForbidden, "", `<p>The proxy before this page named no person, or a person whose groups have no role here.</p>`)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (p *Proxy) beyond() error {
	if p.o.Secret == "" {
		return errProxy
	}
	return nil
}
