package format_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// tokenOf returns a token for a value of a format.
func tokenOf(t testing.TB, formats *format.Standard, text, value string) (string, error) {
	t.Helper()
	requests := []format.Request{{Field: format.Field{Format: text}, Value: keyring.NewValue(value)}}
	results, err := formats.Tokens(t.Context(), requests)
	require.NoError(t, err)
	require.Len(t, results, 1)
	return results[0].Token, results[0].Err
}

func TestFormats(t *testing.T) {
	const card = "4111111111111111"
	for _, c := range []struct{ format, value, pattern string }{
		{"", "anything", `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		{"uuid", "", `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		{"prefix:cus_", "x\x00\xff", `^cus_[a-z2-7]{26}$`},
		{"prefix:A-b_9", "x", `^A-b_9[a-z2-7]{26}$`},
		{"prefix:09azAZ-_", "x", `^09azAZ-_[a-z2-7]{26}$`},
		{"email", strings.Repeat("a", 64) + "@" + strings.Repeat("b", 255), `^[a-z2-7]{26}@tokens\.invalid$`},
		{"email:" + strings.Repeat("a", 63) + ".09", "a@b", `^[a-z2-7]{26}@a{63}\.09$`},
		{"digits:luhn,last4", "00000000000", `^[0-9]{7}0000$`},
		{"prefix:" + strings.Repeat("z", 32), "x", `^z{32}[a-z2-7]{26}$`},
		{"email:" + strings.Repeat("a.", 99) + "aa", "a@b.example", `^[a-z2-7]{26}@(a\.){99}aa$`}, // 200 bytes
		{"digits", card, `^[0-9]{16}$`},
		{"digits", "123456", `^[0-9]{6}$`},
		{"digits", strings.Repeat("7", 100), `^[0-9]{100}$`},
		{"digits:last4", card, `^[0-9]{12}1111$`},
		{"digits:luhn", card, `^[0-9]{16}$`},
		{"digits:luhn", "1234566", `^[0-9]{7}$`},
		{"digits:luhn,last4", card, `^[0-9]{12}1111$`},
		{"digits:luhn,last4", "12345678903", `^[0-9]{7}8903$`},
		{"email", "ada@example.com", `^[a-z2-7]{26}@tokens\.invalid$`},
		{"email:mail.example.org", "ada@example.com", `^[a-z2-7]{26}@mail\.example\.org$`},
		{"email", "\"odd\"@xn--bcher-kva.example", `^[a-z2-7]{26}@tokens\.invalid$`},
	} {
		formats := new(format.Standard)
		require.NoError(t, formats.CheckFormat(c.format), c.format)
		seen := make(map[string]bool)
		for range 50 {
			token, err := tokenOf(t, formats, c.format, c.value)
			require.NoError(t, err, c.format)
			require.Regexp(t, regexp.MustCompile(c.pattern), token, c.format)
			require.NotEqual(t, c.value, token)
			if strings.Contains(c.format, "luhn") {
				require.True(t, luhn(token), "%s: %s", c.format, token)
			}
			seen[token] = true
		}
		require.Greater(t, len(seen), 45, "%s: tokens are not random", c.format)
	}
	other := &format.Standard{EmailDomain: "tokens.example"}
	token, err := tokenOf(t, other, "email", "ada@example.com")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(token, "@tokens.example"))
}

func TestFormatsRefuseValues(t *testing.T) {
	for _, c := range []struct{ format, value string }{
		{"digits", ""},
		{"digits", "12345"}, // under a million
		{"digits", strings.Repeat("1", 101)},
		{"digits", "4111 1111 1111 1111"},
		{"digits", "4111-1111"},
		{"digits", "٤١١١١١١١"}, // digits of another script
		{"digits:last4", "123456789"},
		{"digits:luhn", "4111111111111112"},
		{"digits:luhn", "123455"},
		{"digits:luhn,last4", "1234567897"},
		{"email", "nobody"},
		{"email", "@example.com"},
		{"email", "ada@"},
		{"email", "ada @example.com"},
		{"email", "ada\n@example.com"},
		{"email", "ada\x00@example.com"},
		{"email", "ada\xff@example.com"},
		{"email", strings.Repeat("a", 65) + "@example.com"},
		{"email", "ada@" + strings.Repeat("a", 256)},
	} {
		_, err := tokenOf(t, new(format.Standard), c.format, c.value)
		require.ErrorIs(t, err, format.ErrMismatch, "%s of %q", c.format, c.value)
		if c.value != "" {
			require.NotContains(t, err.Error(), c.value)
		}
	}
}

func TestFormatNames(t *testing.T) {
	for _, wrong := range []string{
		"UUID", "uuid:", "uuid:x", "prefix", "prefix:", "prefix:a b", "prefix:a/b", "prefix:ä_", "prefix:" + strings.Repeat("a", 33), "digits:", "digits:luhn,",
		"digits:luhn,luhn", "digits:last4,luhn", "digits:last5", "email:", "email:a..b", "email:-a.b", "email:a b", "email:a@b", "email:" + strings.Repeat("a.", 101) + "a",
		"other", " uuid", "email:" + strings.Repeat("a", 64) + ".example",
	} {
		require.Error(t, new(format.Standard).CheckFormat(wrong), wrong)
		_, err := tokenOf(t, new(format.Standard), wrong, "x")
		require.Error(t, err, wrong)
	}
}

// All digits are equally likely, wherever they stand, the one that the Luhn check decides
// included.
func TestDigitsAreUniform(t *testing.T) {
	const n = 20000
	var count [16][10]int
	for range n {
		token, err := tokenOf(t, new(format.Standard), "digits:luhn", "4111111111111111")
		require.NoError(t, err)
		for i := range token {
			count[i][token[i]-'0']++
		}
	}
	for i := range count {
		chi := 0.0
		for _, c := range count[i] {
			d := float64(c) - n/10
			chi += d * d / (n / 10)
		}
		require.Less(t, chi, 40.0, "position %d: %v", i, count[i]) // 9 degrees of freedom: over 40 in one of 10^5 runs
	}
}

// A token of digits is never the value, though randomness would have it so.
func TestDigitsAreNotTheValue(t *testing.T) {
	random := bytes.NewReader(append(bytes.Repeat([]byte{1}, 6), bytes.Repeat([]byte{2}, 6)...))
	token, err := tokenOf(t, &format.Standard{Rand: random}, "digits", "111111")
	require.NoError(t, err)
	require.Equal(t, "222222", token)
}

func TestFormatsWithoutRandomness(t *testing.T) {
	for _, text := range []string{"uuid", "prefix:x_", "digits", "email"} {
		value := "123456"
		if text == "email" {
			value = "a@b.example"
		}
		_, err := tokenOf(t, &format.Standard{Rand: bytes.NewReader(nil)}, text, value)
		require.Error(t, err, text)
		require.NotErrorIs(t, err, format.ErrMismatch)
	}
}

// Whatever the format and the value are, a token is one that can be stored, or there is
// an error.
func FuzzFormats(f *testing.F) {
	for _, seed := range [][2]string{{"", "x"}, {"prefix:a_", ""}, {"digits:luhn,last4", "4111111111111111"}, {"email:example.com", "a@b"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		formats := new(format.Standard)
		token, err := tokenOf(t, formats, text, value)
		if (formats.CheckFormat(text) != nil) != (err != nil && !errors.Is(err, format.ErrMismatch)) {
			t.Fatalf("CheckFormat and Token disagree about %q: %v", text, err)
		}
		if err == nil && (token == "" || len(token) > 255 || token == value) {
			t.Fatalf("a token of %d bytes", len(token))
		}
		if err == nil && (text == "" || text == "uuid") {
			require.NoError(t, uuid.Validate(token))
		}
	})
}

// luhn is the check as ISO/IEC 7812-1 annex B describes it.
func luhn(number string) bool {
	sum, double := 0, false
	for i := len(number) - 1; i >= 0; i-- {
		n := int(number[i] - '0')
		if double {
			n *= 2
		}
		sum += n/10 + n%10
		double = !double
	}
	return sum%10 == 0
}
