package format_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// upperCodes is a Tokenizer with a format of the host's own, beside all of Standard.
type upperCodes struct{ format.Standard }

func (u *upperCodes) CheckFormat(format string) error {
	if format == "code" {
		return nil
	}
	return u.Standard.CheckFormat(format)
}

func (u *upperCodes) Tokens(ctx context.Context, requests []format.Request) ([]format.Result, error) {
	ours := slices.Clone(requests)
	for i := range ours {
		if ours[i].Field.Format == "code" {
			ours[i].Field.Format = "prefix:c-"
		}
	}
	results, err := u.Standard.Tokens(ctx, ours)
	for i := range results {
		if requests[i].Field.Format == "code" {
			results[i].Token = strings.ToUpper(results[i].Token)
		}
	}
	return results, err
}

func (u *upperCodes) CheckTokens(ctx context.Context, pairs []format.Pair) ([]error, error) {
	ours := slices.Clone(pairs)
	for i := range ours {
		if ours[i].Field.Format == "code" {
			ours[i].Field.Format = "prefix:c-"
			ours[i].Token = strings.ToLower(ours[i].Token)
		}
	}
	return u.Standard.CheckTokens(ctx, ours)
}

// A tokenizer with a format of the host's own goes into the Options of a service.
func ExampleTokenizer() {
	codes := new(upperCodes)
	fmt.Println(codes.CheckFormat("code"))
	fmt.Println(codes.CheckFormat("codes"))
	requests := []format.Request{{Field: format.Field{Format: "code"}, Value: keyring.NewValue("12345")}}
	tokens, err := codes.Tokens(context.Background(), requests)
	fmt.Println(tokens[0].Token[:2], len(tokens[0].Token), tokens[0].Err, err)
	// Output:
	// <nil>
	// must be "uuid", "prefix:NAME_", "digits" (or "digits:luhn", "digits:last4", "digits:luhn,last4") or "email" (or "email:DOMAIN")
	// C- 28 <nil> <nil>
}

func ExampleParseMask() {
	for _, mask := range []string{"0*4", "1*@", "*"} {
		m, err := format.ParseMask(mask)
		fmt.Println(m.Apply("ada.lovelace@example.com"), err)
	}
	// Output:
	// ********.com <nil>
	// a********@example.com <nil>
	// ******** <nil>
}
