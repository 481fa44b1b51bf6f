package shopify

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMinorUnits(t *testing.T) {
	for _, tc := range []struct {
		amount, currency string
		want             int64
	}{
		{"0.00", "EUR", 0}, {"0", "EUR", 0}, {"0.01", "EUR", 1}, {"10", "USD", 1000}, {"10.5", "USD", 1050},
		{"199.90", "CAD", 19990}, {"409.94", "USD", 40994}, {"0.29", "GBP", 29}, {"1.1", "CHF", 110},
		{"1000", "JPY", 1000}, {"1000.00", "JPY", 1000}, {"12.345", "KWD", 12345}, {"12.3", "KWD", 12300},
		{"0.0001", "CLF", 1}, {"12.3450000", "BHD", 12345},
		{"92233720368547758.07", "EUR", math.MaxInt64}, {"9223372036854775807", "JPY", math.MaxInt64},
	} {
		got, err := MinorUnits(tc.amount, tc.currency)
		if err != nil || got != tc.want {
			t.Errorf("MinorUnits(%q, %s) = %d, %v, want %d", tc.amount, tc.currency, got, err, tc.want)
		}
	}
}

func TestMinorUnitsRefuses(t *testing.T) {
	for _, tc := range []struct{ amount, currency, says string }{
		{"", "EUR", "not written"}, {".5", "EUR", "not written"}, {"5.", "EUR", "not written"}, {".", "EUR", "not written"},
		{"+5", "EUR", "not written"}, {" 5", "EUR", "not written"}, {"5 ", "EUR", "not written"}, {"1e3", "EUR", "not written"},
		{"1,000.00", "EUR", "not written"}, {"12,50", "EUR", "not written"}, {"1.2.3", "EUR", "not written"},
		{"0x10", "EUR", "not written"}, {"NaN", "EUR", "not written"}, {"٣", "EUR", "not written"}, {"1_000", "EUR", "not written"},
		{"-1.00", "EUR", "negative"}, {"-0.00", "EUR", "negative"}, {"007", "EUR", "leading zeros"}, {"00.10", "EUR", "leading zeros"},
		{"0.001", "EUR", "more decimals than EUR"}, {"10.5", "JPY", "more decimals than JPY"}, {"1.2345", "KWD", "more decimals than KWD"},
		{"92233720368547758.08", "EUR", "too large"}, {strings.Repeat("9", 400), "EUR", "too large"},
		{"1.00", "", "not one of ISO 4217"}, {"1.00", "eur", "not one of ISO 4217"}, {"1.00", "EURO", "not one of ISO 4217"}, {"1.00", "ZZZ", "not one of ISO 4217"},
	} {
		got, err := MinorUnits(tc.amount, tc.currency)
		if !errors.Is(err, errMoney) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("MinorUnits(%q, %s) = %d, %v, want an error that says %q", tc.amount, tc.currency, got, err, tc.says)
		}
	}
}

// Whatever a whole number of minor units is written as, it is read back exactly.
func TestMinorUnitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Min(0).Draw(t, "minor")
		currency := rapid.SampledFrom([]string{"EUR", "JPY", "KWD", "CLF"}).Draw(t, "currency")
		if got, err := MinorUnits(Decimal(want, currency), currency); err != nil || got != want {
			t.Fatalf("MinorUnits(%q, %s) = %d, %v", Decimal(want, currency), currency, got, err)
		}
	})
}

func FuzzMinorUnits(f *testing.F) {
	for _, seed := range []string{"1.00", "-1", "1e9", "0.10", "00", "9999999999999999999999", "1.\xff"} {
		f.Add(seed, "EUR")
	}
	f.Fuzz(func(t *testing.T, amount, currency string) {
		minor, err := MinorUnits(amount, currency)
		if err != nil && (minor != 0 || !errors.Is(err, errMoney)) {
			t.Errorf("MinorUnits(%q, %q) = %d, %v", amount, currency, minor, err)
		}
		if minor < 0 {
			t.Errorf("MinorUnits(%q, %q) = %d, below zero", amount, currency, minor)
		}
	})
}
