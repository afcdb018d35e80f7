package decimal_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/decimal"
)

// TestDecimalGrammar: a number is what RFC 8259 calls one, of bounded length and exponent.
func TestDecimalGrammar(t *testing.T) {
	for _, good := range []string{"0", "-0", "1", "-1", "10", "1.0", "0.5", "1e5", "1E+5", "1e-5", "1e0005", "1.25e400", "1e-400", strings.Repeat("9", 64)} {
		_, ok := decimal.Parse(good)
		assert.True(t, ok, good)
	}
	for _, bad := range []string{"", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "e5", "1 ", " 1", "0x10", "1_0", "NaN", "Inf", "1e401", "1e-401", "１",
		"1e99999999999999999999", "1,5", "1.5.2", "--1", "1\n", strings.Repeat("9", 65), "true"} {
		_, ok := decimal.Parse(bad)
		assert.False(t, ok, bad)
	}
}

// grammar is RFC 8259's, as a regular expression.
var grammar = regexp.MustCompile(`\A-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\z`)

// exact is the reference: a rational number of any size.
func exact(t *testing.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	require.True(t, ok, text)
	return r
}

// TestDecimalsCompareExactly: as rational numbers do, whatever a float64 can hold.
func TestDecimalsCompareExactly(t *testing.T) {
	special := []string{"0", "-0", "0e400", "0.000", "1", "1.0", "10e-1", "0.1e1", "1.5", "15e-1", "9007199254740992", "9007199254740993", "-9007199254740993",
		"1e400", "2e400", "-1e400", "1e-400", "-1e-400", "0.1", "0.10000000000000000000000000001", "123456789012345678901234567890", "1e308", "1e309", "1e310", "9e-324", "3e-324", "1e-330"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		special = append(special, fmt.Sprintf("%d%se%d", random.IntN(200)-100, []string{"", ".0", ".5", ".25"}[random.IntN(4)], random.IntN(5)-2))
	}
	for _, a := range special {
		for _, b := range special {
			x, ok := decimal.Parse(a)
			require.True(t, ok, a)
			y, ok := decimal.Parse(b)
			require.True(t, ok, b)
			assert.Equal(t, exact(t, a).Cmp(exact(t, b)), x.Compare(y), "%s and %s", a, b)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"1", "-0.5e3", "1e401", "", "01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, ok := decimal.Parse(text)
		if ok && !grammar.MatchString(text) {
			t.Errorf("%q is no number", text)
		}
		if !ok && len(text) < 5 && !strings.ContainsAny(text, "eE") && grammar.MatchString(text) {
			t.Errorf("%q is a number", text)
		}
	})
}
