package login

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/headrace/headrace/ui/who"
)

const (
	linkFor    = 5 * time.Minute
	sessionFor = 12 * time.Hour
	linkPath   = "/login"
)

// Link lets in the person who can read what this process prints: a link for one use, valid for 5 minutes, and
// then a cookie for 12 hours. It takes requests from this machine only.
type Link struct {
	person who.Person
	now    func() time.Time

	mu       sync.Mutex
	secret   [sha256.Size]byte // hash of the link's
	until    time.Time         // zero if no link is valid
	sessions map[[sha256.Size]byte]time.Time
}

// NewLink returns a Link for a person, without a valid link: see [Link.Path].
func NewLink(person who.Person) *Link {
	return &Link{person: person, now: time.Now, sessions: make(map[[sha256.Size]byte]time.Time)}
}

// Path makes a link and returns its path and query. An earlier one is no longer valid; cookies stay.
func (l *Link) Path() string {
	secret := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secret, l.until = sha256.Sum256([]byte(secret)), l.now().Add(linkFor)
	return linkPath + "?once=" + secret
}

// Identify returns the person if the request has a valid cookie and comes from this machine.
func (l *Link) Identify(r *http.Request) (who.Person, error) {
	if !onMachine(r) {
		return who.Person{}, who.ErrUnknown
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range r.CookiesNamed(cookieName(r)) {
		if until, ok := l.sessions[sha256.Sum256([]byte(c.Value))]; ok && l.now().Before(until) {
			return l.person, nil
		}
	}
	return who.Person{}, who.ErrUnknown
}

// Handler takes the link, and refuses requests without a cookie.
func (l *Link) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == linkPath && onMachine(r) {
			l.open(w, r)
			return
		}
		if _, err := l.Identify(r); err != nil {
			notSignedIn(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// open exchanges the secret of a link for a cookie. A person who follows a used link and is signed in is let through.
func (l *Link) open(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if session, ok := l.take(r.URL.Query().Get("once")); ok {
		http.SetCookie(w, &http.Cookie{
			Name: cookieName(r), Value: session, Path: "/", MaxAge: int(sessionFor / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		})
	} else if _, err := l.Identify(r); err != nil {
		refuse(w, http.StatusUnauthorized, "", `<p>This link was used, is older than 5 minutes, or is not of this process. Start <code>headrace ui</code> again for a new one.</p>`)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// take ends the link if the secret is right, and returns the secret of a new session.
func (l *Link) take(secret string) (session string, ok bool) {
	hash := sha256.Sum256([]byte(secret))
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if subtle.ConstantTimeCompare(hash[:], l.secret[:]) == 0 || !now.Before(l.until) {
		return "", false
	}
	l.until = time.Time{}
	for hash, until := range l.sessions {
		if !now.Before(until) {
			delete(l.sessions, hash)
		}
	}
	session = rand.Text()
	l.sessions[sha256.Sum256([]byte(session))] = now.Add(sessionFor)
	return session, true
}

// notSignedIn refuses. Browsers keep a strict cookie back from a request that another site began, an alert in a chat for
// example: the page then opens itself once more, and that request is ours.
func notSignedIn(w http.ResponseWriter, r *http.Request) {
	head, text := "", `<p>Open the link that <code>headrace ui</code> printed in this browser. It works once; start the command again for a new one.</p>`
	if site := r.Header.Get("Sec-Fetch-Site"); r.Method == http.MethodGet && (site == "cross-site" || site == "same-site") {
		head = `<meta http-equiv="refresh" content="0">`
		text = `<p><a href="">Open the page</a>, if it does not open by itself.</p>`
	}
	refuse(w, http.StatusUnauthorized, head, text)
}

// cookieName has the port, because the servers of one machine share their cookies.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "headrace_" + port
	}
	return "headrace"
}

func (l *Link) beyond() error { return errLink }
