package format_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// checkOf says whether a token of a value fits a format.
func checkOf(t testing.TB, formats *format.Standard, text, value, token string) error {
	t.Helper()
	pairs := []format.Pair{{Field: format.Field{Format: text}, Value: keyring.NewValue(value), Token: token}}
	errs, err := formats.CheckTokens(t.Context(), pairs)
	require.NoError(t, err)
	require.Len(t, errs, 1)
	return errs[0]
}

func TestFormatsCheckTokens(t *testing.T) {
	const card, id = "4111111111111111", "0193e0a0-5b1e-7c3d-8f00-0123456789ab"
	const chars = "abcdefghijklmnopqrstuvwxyz" // 26 of them, as a token has
	const email, domain = "ada@example.com", "@tokens.invalid"
	for _, c := range []struct{ format, value, token, problem string }{
		{"", "x", id, ""},
		{"uuid", "", id, ""},
		{"uuid", "x", strings.ToUpper(id), ""},
		{"uuid", "x", "C232AB00-9414-11EC-B3C8-9F6BDECED846", ""}, // version 1
		{"uuid", "x", id[:35], "must be a UUID"},
		{"uuid", "x", id + "0", "must be a UUID"},
		{"uuid", "x", strings.ReplaceAll(id, "-", ""), "must be a UUID"},
		{"uuid", "x", "{" + id + "}", "must be a UUID"},
		{"uuid", "x", "urn:uuid:" + id, "must be a UUID"},
		{"uuid", "x", strings.Replace(id, "-", "_", 1), "must be a UUID"},
		{"uuid", "x", strings.Replace(id, "a", "g", 1), "must be a UUID"},
		{"uuid", "x", "", "must be a UUID"},
		{"uuid", id, id, "another text than the value"},

		{"prefix:cus_", "x", "cus_" + chars, ""},
		{"prefix:cus_", "x", "cus_" + strings.Repeat("7", 26), ""},
		{"prefix:cus_", "x", "CUS_" + chars, "must be cus_ and 26"},
		{"prefix:cus_", "x", chars, "must be cus_ and 26"},
		{"prefix:cus_", "x", "cus_", "must be cus_ and 26"},
		{"prefix:cus_", "x", "cus_" + chars[1:], "must be cus_ and 26"},
		{"prefix:cus_", "x", "cus_" + chars + "a", "must be cus_ and 26"},
		{"prefix:cus_", "x", "cus_" + strings.ToUpper(chars), "must be cus_ and 26"},
		{"prefix:cus_", "x", "cus_" + chars[:12] + "1" + chars[13:], "must be cus_ and 26"},
		{"prefix:cus_", "cus_" + chars, "cus_" + chars, "another text than the value"},

		{"digits", "123456", "000000", ""},
		{"digits", "123456", "0000000", "as many digits as the value"},
		{"digits", "123456", "00000", "as many digits as the value"},
		{"digits", "123456", "00000a", "as many digits as the value"},
		{"digits", "123456", "٤٤٤", "as many digits as the value"}, // six bytes
		{"digits", "123456", "123456", "another text than the value"},
		{"digits", "12345", "00000", "6 to 100 digits are needed"},
		{"digits", "12345x", "000000", "digits only are needed"},
		{"digits:luhn", card, "4012888888881881", ""},
		{"digits:luhn", card, "4012888888881882", "check digit of its token"},
		{"digits:luhn", "4111111111111112", "4012888888881881", "the check digit is wrong"},
		{"digits:luhn", card, card, "another text than the value"},
		{"digits:last4", card, "0000000000001111", ""},
		{"digits:last4", card, "0000000000001112", "end like the value"},
		{"digits:last4", card, "0000000000002111", "end like the value"},
		{"digits:last4", "123456789", "000006789", "10 to 100 digits"},
		{"digits:luhn,last4", card, "5000000000001111", "check digit of its token"},
		{"digits:luhn,last4", card, "4012888888881881", "end like the value"},

		{"email", email, "x" + domain, ""},
		{"email", email, strings.Repeat("x", 64) + domain, ""},
		{"email", email, strings.Repeat("x", 65) + domain, "an email address of tokens.invalid"},
		{"email", email, "x@tokens.example", "an email address of tokens.invalid"},
		{"email", email, "x@a.tokens.invalid", "an email address of tokens.invalid"},
		{"email", email, domain, "an email address of tokens.invalid"},
		{"email", email, "x", "an email address of tokens.invalid"},
		{"email", email, "x y" + domain, "an email address of tokens.invalid"},
		{"email", "nobody", "x" + domain, "an email address is needed"},
		{"email", "x" + domain, "x" + domain, "another text than the value"},
		{"email:example.com", email, "bob@example.com", ""},
		{"email:example.com", email, "bob@example.org", "an email address of example.com"},
		{"email:example.com", email, email, "another text than the value"},
		// 255 bytes.
		{"email:" + strings.Repeat("a.", 99) + "aa", email, strings.Repeat("x", 54) + "@" + strings.Repeat("a.", 99) + "aa", ""},
		{"email:" + strings.Repeat("a.", 99) + "aa", email, strings.Repeat("x", 55) + "@" + strings.Repeat("a.", 99) + "aa", "at most 255 bytes"},
	} {
		err := checkOf(t, new(format.Standard), c.format, c.value, c.token)
		if c.problem == "" {
			require.NoError(t, err, "%s of %q: %q", c.format, c.value, c.token)
			continue
		}
		require.ErrorIs(t, err, format.ErrMismatch, "%s of %q: %q", c.format, c.value, c.token)
		require.ErrorContains(t, err, c.problem, "%s of %q: %q", c.format, c.value, c.token)
		if len(c.value) > 1 && !strings.Contains(c.token, c.value) {
			require.NotContains(t, err.Error(), c.value)
		}
	}
	own := &format.Standard{EmailDomain: "tokens.example"}
	require.NoError(t, checkOf(t, own, "email", email, "x@tokens.example"))
	require.ErrorIs(t, checkOf(t, own, "email", email, "x"+domain), format.ErrMismatch)
	err := checkOf(t, own, "other", "x", id)
	require.Error(t, err)
	require.NotErrorIs(t, err, format.ErrMismatch, "the column is to blame")
}

// In a batch each is judged by itself, whatever stands beside it.
func TestFormatsOfABatch(t *testing.T) {
	formats := new(format.Standard)
	var requests []format.Request
	var pairs []format.Pair
	add := func(text, value, token string) {
		f := format.Field{Format: text}
		requests = append(requests, format.Request{Field: f, Value: keyring.NewValue(value)})
		pairs = append(pairs, format.Pair{Field: f, Value: keyring.NewValue(value), Token: token})
	}
	for range 3 {
		add("digits", "123456", "654321")
		add("digits", "nobody", "654321")
		add("email", "ada@example.com", "x@tokens.invalid")
		add("email", "nobody", "654321")
		add("nope", "x", "x")
		add("email:example.org", "ada@example.com", "x@example.org")
		add("", "123456", "0193e0a0-5b1e-7c3d-8f00-0123456789ab")
	}
	results, err := formats.Tokens(t.Context(), requests)
	require.NoError(t, err)
	errs, err := formats.CheckTokens(t.Context(), pairs)
	require.NoError(t, err)
	require.Len(t, results, len(requests))
	require.Len(t, errs, len(pairs))
	for i := range requests {
		token, want := tokenOf(t, formats, requests[i].Field.Format, requests[i].Value.Reveal())
		require.Equal(t, want, results[i].Err, i)
		require.Equal(t, want, errs[i], i)
		require.Len(t, results[i].Token, len(token), i)
		if want == nil {
			require.NoError(t, checkOf(t, formats, pairs[i].Field.Format, pairs[i].Value.Reveal(), results[i].Token), i)
		}
	}
	results, err = formats.Tokens(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, results)
	errs, err = formats.CheckTokens(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, errs)
}

// What Tokens makes fits, and nothing that fits is what a store or another field refuses.
func FuzzFormatsCheckTokens(f *testing.F) {
	for _, seed := range [][3]string{
		{"", "x", "0193e0a0-5b1e-7c3d-8f00-0123456789ab"}, {"prefix:a_", "", "a_abcdefghijklmnopqrstuvwxyz"}, {"email:example.com", "a@b", "c@example.com"},
		{"digits:luhn,last4", "4111111111111111", "4012888888881881"}, {"digits", "123456", "654321"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, text, value, token string) {
		formats := new(format.Standard)
		made, makeErr := tokenOf(t, formats, text, value)
		if makeErr == nil {
			require.NoError(t, checkOf(t, formats, text, value, made), "a token that was made")
			require.Error(t, checkOf(t, formats, text, made, made), "equal to its value")
		}
		err := checkOf(t, formats, text, value, token)
		if err != nil {
			return
		}
		require.NoError(t, makeErr, "a value that has no tokens here")
		require.NotEqual(t, value, token)
		require.LessOrEqual(t, len(token), 255)
		require.NotContains(t, token, "\x00")
		require.Equal(t, strings.ToValidUTF8(token, ""), token)
	})
}
