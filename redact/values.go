package redact

import (
	"net/url"
	"regexp"
	"strings"
)

var (
	jwt      = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){2,4}`)
	awsKey   = regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)
	userinfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#"'<>]*@`)
	field    = regexp.MustCompile(`([A-Za-z0-9_.%\[\]-]+)=("[^"]*"?|[^&;\s]+)`)
)

// Text returns s without what looks like a secret, and without the values of fields (a=1) with telling names.
func (r *Rules) Text(s string) string {
	if strings.Contains(s, "eyJ") {
		s = jwt.ReplaceAllLiteralString(s, Mark)
	}
	if strings.Contains(s, "AKIA") || strings.Contains(s, "ASIA") {
		s = awsKey.ReplaceAllLiteralString(s, Mark)
	}
	if strings.Contains(s, "://") {
		s = userinfo.ReplaceAllString(s, "${1}"+Mark+"@")
	}
	s = cards(s)
	for _, re := range r.values {
		s = re.ReplaceAllLiteralString(s, Mark)
	}
	return r.fields(s)
}

// fields hides values with telling names, as forms, queries and connection strings have them.
func (r *Rules) fields(s string) string {
	if !strings.Contains(s, "=") {
		return s
	}
	return field.ReplaceAllStringFunc(s, func(one string) string {
		name, _, _ := strings.Cut(one, "=")
		plain, err := url.QueryUnescape(name)
		if err != nil {
			plain = name
		}
		if !r.hides([]string{fold(plain)}) {
			return one
		}
		return name + "=" + Mark
	})
}

const (
	leastGroup = 3  // digits between two separators
	mostDigits = 19 // of a card
)

// cards hides numbers of payment cards, with hyphens or blanks between groups of digits or without.
func cards(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		if !isDigit(s[i]) {
			i++
			continue
		}
		if end := cardEnd(s, i); end > 0 {
			b.WriteString(s[done:i])
			b.WriteString(Mark)
			i, done = end, end
			continue
		}
		for i < len(s) && isDigit(s[i]) {
			i++
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// cardEnd returns where the number of a card ends that begins at start, where a group of digits begins; 0 if none does.
func cardEnd(s string, start int) (end int) {
	var digits [mostDigits]byte
	n, separator := 0, byte(0)
	for i := start; ; {
		group := i
		for ; i < len(s) && isDigit(s[i]); i++ {
			if n == mostDigits {
				return end
			}
			digits[n] = s[i]
			n++
		}
		if i-group < leastGroup {
			return end
		}
		if isCard(digits[:n]) {
			end = i
		}
		if i+1 >= len(s) || s[i] != ' ' && s[i] != '-' || separator != 0 && s[i] != separator || !isDigit(s[i+1]) {
			return end
		}
		separator = s[i]
		i++
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isCard reports whether digits are a number that an issuer of cards could have given out.
func isCard(digits []byte) bool {
	n := len(digits)
	if n < 13 || !issued(digits) {
		return false
	}
	sum := 0
	for i, c := range digits { // Luhn
		d := int(c - '0')
		if (n-i)%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// issued reports whether the first digits are an issuer's, for numbers of that length. Without this, a tenth of all ids and
// times in numbers of this length would be hidden.
func issued(digits []byte) bool {
	n, first := len(digits), 0
	for _, c := range digits[:4] {
		first = 10*first + int(c-'0')
	}
	two := first / 100
	switch {
	case first/1000 == 4: // Visa
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, first >= 2221 && first <= 2720: // Mastercard
		return n == 16
	case two == 34, two == 37: // American Express
		return n == 15
	case first >= 3000 && first <= 3059, two == 36, two == 38, two == 39: // Diners Club
		return n == 14 || n == 16
	case first >= 3528 && first <= 3589, first == 6011, first >= 6440 && first <= 6599, two == 62: // JCB, Discover, UnionPay
		return n >= 16
	}
	return false
}
