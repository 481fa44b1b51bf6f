package shopify

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// errMoney matches every refusal of an amount or a currency.
var errMoney = errors.New("not an amount of money")

// MinorUnits reads a decimal amount, "199.90", as an exact number of the currency's minor units, 19990 cents.
// It takes digits with at most one point and digits on both sides of it, and nothing else: no sign, no
// exponent, no separators, no leading zeros. More decimals than the currency has must be zeros. The errors do not
// show the amount: they end up in logs and group the dead letters.
func MinorUnits(amount, currency string) (int64, error) {
	decimals, ok := decimalsOf(currency)
	if !ok {
		return 0, fmt.Errorf("%w: its currency is not one of ISO 4217", errMoney)
	}
	whole, fraction, point := strings.Cut(amount, ".")
	switch {
	case strings.HasPrefix(amount, "-"):
		return 0, fmt.Errorf("%w: it is negative", errMoney)
	case !digits(whole), point && !digits(fraction):
		return 0, fmt.Errorf("%w: it is not written as digits, a point and digits", errMoney)
	case len(whole) > 1 && whole[0] == '0':
		return 0, fmt.Errorf("%w: it has leading zeros", errMoney)
	}
	if len(fraction) > decimals {
		if strings.Trim(fraction[decimals:], "0") != "" {
			return 0, fmt.Errorf("%w: it has more decimals than %s", errMoney, currency)
		}
		fraction = fraction[:decimals]
	}
	var minor int64
	for _, c := range whole + fraction + strings.Repeat("0", decimals-len(fraction)) {
		d := int64(c - '0')
		if minor > (math.MaxInt64-d)/10 {
			return 0, fmt.Errorf("%w: it is too large", errMoney)
		}
		minor = minor*10 + d
	}
	return minor, nil
}

// digits reports whether s is one or more ASCII digits.
func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// The currencies of ISO 4217 by the number of their decimals; all that are not listed have two.
const (
	noDecimals    = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
	threeDecimals = "BHD IQD JOD KWD LYD OMR TND"
	fourDecimals  = "CLF UYW"
	twoDecimals   = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD " +
		"CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD " +
		"HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR " +
		"MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD " +
		"SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER " +
		"ZAR ZMW ZWG"
)

var currencies = func() map[string]int {
	all := make(map[string]int)
	for decimals, codes := range []string{noDecimals, "", twoDecimals, threeDecimals, fourDecimals} {
		for code := range strings.FieldsSeq(codes) {
			all[code] = decimals
		}
	}
	return all
}()

// decimalsOf returns how many decimals a currency has; false where ISO 4217 does not know it.
func decimalsOf(currency string) (int, bool) {
	decimals, ok := currencies[currency]
	return decimals, ok
}

// Decimal writes minor units as the decimal that a shop sends.
func Decimal(minor int64, currency string) string {
	decimals, _ := decimalsOf(currency)
	s := fmt.Sprintf("%0*d", decimals+1, minor)
	if decimals == 0 {
		return s
	}
	return s[:len(s)-decimals] + "." + s[len(s)-decimals:]
}
