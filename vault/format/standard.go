package format

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Standard is the [Tokenizer] that a service uses by default. Its tokens are random. A
// column's format is one of
//
//   - "uuid", or "": a UUID of version 4 (RFC 9562).
//   - "prefix:NAME_": the prefix, of 1 to 32 letters, digits, - and _, and 26
//     characters of 130 random bits.
//   - "digits": as many digits as the value, which must be digits only, 6 to 100 of
//     them.
//   - "digits:luhn": both value and token pass the Luhn check (ISO/IEC 7812-1 annex B).
//   - "digits:last4": the token keeps the value's last four digits. "digits:luhn,last4"
//     is both.
//   - "email": an address with a random local part and the EmailDomain;
//     "email:example.com" with that domain. The value must be an address.
//
// A shape of fewer than 10^6 tokens is refused with [ErrMismatch] for the values that
// have it: the vault would soon be full, and the tokens could be guessed. A token of
// digits never equals its value.
//
// Tokens that others made fit if they have the shape of those of Standard: a UUID of any
// version, in the 36 characters of RFC 9562 section 4, in either case; the prefix and 26
// letters a to z and digits 2 to 7; as many digits as the value, with the check digit and
// the last four that the format asks for; an address of the format's domain.
type Standard struct {
	EmailDomain string    // of "email"; "" is tokens.invalid, which receives no mail (RFC 2606)
	Rand        io.Reader // nil is crypto/rand.Reader; must be safe for concurrent use
}

const defaultEmailDomain = "tokens.invalid"

// CheckFormat implements [Tokenizer].
func (t *Standard) CheckFormat(format string) error {
	_, err := t.parse(format)
	return err
}

// Limits implements [Tokenizer]: there are none.
func (*Standard) Limits() keyring.Limits { return keyring.Limits{} }

// Tokens implements [Tokenizer].
func (t *Standard) Tokens(_ context.Context, requests []Request) ([]Result, error) {
	random := t.Rand
	if random == nil {
		random = rand.Reader
	}
	results := make([]Result, len(requests))
	var last parsedFormat
	for i := range requests {
		r, result := &requests[i], &results[i]
		f, err := last.parse(t, r.Field.Format)
		if err == nil {
			result.Token, err = f.token(random, r.Value.Reveal())
		}
		if err != nil {
			*result = Result{Err: err}
		}
	}
	return results, nil
}

// CheckTokens implements [Tokenizer].
func (t *Standard) CheckTokens(_ context.Context, pairs []Pair) ([]error, error) {
	errs := make([]error, len(pairs))
	var last parsedFormat
	for i := range pairs {
		p := &pairs[i]
		f, err := last.parse(t, p.Field.Format)
		if err == nil {
			err = f.check(p.Value.Reveal(), p.Token)
		}
		if err == nil {
			err = p.Check()
		}
		errs[i] = err
	}
	return errs, nil
}

// form is a shape of tokens.
type form interface {
	// token returns a random token for a value.
	token(random io.Reader, value string) (string, error)

	// check returns an error if the value or the token does not have the shape.
	check(value, token string) error
}

// parsedFormat is the last format that was parsed: as a rule, the next one is the same.
type parsedFormat struct {
	format string
	form   form
}

func (p *parsedFormat) parse(t *Standard, format string) (form, error) {
	if p.form == nil || p.format != format {
		f, err := t.parse(format)
		if err != nil {
			return nil, err
		}
		*p = parsedFormat{format, f}
	}
	return p.form, nil
}

var errFormatName = errors.New(`must be "uuid", "prefix:NAME_", "digits" (or "digits:luhn", "digits:last4", "digits:luhn,last4") or "email" (or "email:DOMAIN")`)

func (t *Standard) parse(format string) (form, error) {
	kind, param, hasParam := strings.Cut(format, ":")
	switch {
	case format == "", format == "uuid":
		return uuids{}, nil
	case kind == "prefix" && validPrefix(param):
		return prefixed(param), nil
	case kind == "digits":
		if d, ok := parseDigits(param, hasParam); ok {
			return d, nil
		}
	case format == "email" && t.EmailDomain == "":
		return emails(defaultEmailDomain), nil
	case format == "email":
		if !validDomain(t.EmailDomain) {
			return nil, errors.New("must name a domain: Standard.EmailDomain is none")
		}
		return emails(t.EmailDomain), nil
	case kind == "email" && validDomain(param):
		return emails(param), nil
	}
	return nil, errFormatName
}

// uuids are tokens of the format "uuid".
type uuids struct{}

func (uuids) token(random io.Reader, _ string) (string, error) {
	id, err := uuid.NewRandomFromReader(random)
	return id.String(), err
}

func (uuids) check(_, token string) error {
	const canonical = 36 // uuid.Validate takes other forms, too, each of another length
	if len(token) != canonical || uuid.Validate(token) != nil {
		return formatError("its token must be a UUID of 36 characters")
	}
	return nil
}

// prefixed are tokens of the format "prefix:", by the prefix.
type prefixed string

func (prefix prefixed) token(random io.Reader, _ string) (string, error) {
	return randomText(random, string(prefix))
}

func (prefix prefixed) check(_, token string) error {
	text, ok := strings.CutPrefix(token, string(prefix))
	if !ok || len(text) != randomChars || strings.Trim(text, base32Alphabet) != "" {
		return formatError("its token must be %s and %d letters a to z and digits 2 to 7",
			string(prefix), randomChars)
	}
	return nil
}

const base32Alphabet = "abcdefghijklmnopqrstuvwxyz234567"

// base32Text is the alphabet of RFC 4648 section 6 in lower case, so that mail systems
// and file names keep it.
var base32Text = base32.NewEncoding(base32Alphabet).WithPadding(base32.NoPadding)

// randomChars is how many random characters a text has, each of 5 bits.
const randomChars = 26

// randomText returns a prefix and random characters.
func randomText(random io.Reader, prefix string) (string, error) {
	var bits [(randomChars*5 + 7) / 8]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return prefix + base32Text.EncodeToString(bits[:])[:randomChars], nil
}

func validPrefix(prefix string) bool {
	const maxPrefix = 32
	if prefix == "" || len(prefix) > maxPrefix {
		return false
	}
	for _, c := range []byte(prefix) {
		if !isAlphanumeric(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// validDomain reports whether a text is a domain name as host names are written (RFC 1123
// section 2.1).
func validDomain(domain string) bool {
	const maxDomain = 200 // so that no token is over 255 bytes
	if len(domain) > maxDomain {
		return false
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if !isAlphanumeric(c) && c != '-' {
				return false
			}
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// emails are tokens of the format "email", by the domain.
type emails string

var errNoEmail = formatError("an email address is needed")

func (domain emails) token(random io.Reader, value string) (string, error) {
	if !isEmail(value) {
		return "", errNoEmail
	}
	local, err := randomText(random, "")
	return local + "@" + string(domain), err
}

func (domain emails) check(value, token string) error {
	switch {
	case !isEmail(value):
		return errNoEmail
	case !isEmail(token) || token[strings.LastIndexByte(token, '@')+1:] != string(domain):
		return formatError("its token must be an email address of %s", string(domain))
	}
	return nil
}

// isEmail reports whether a value looks like an address: a local part of 1 to 64 bytes
// and a domain (RFC 5321 section 4.5.3.1), without spaces and control characters. What an
// address may be beyond that is for the mail system to say.
func isEmail(value string) bool {
	at := strings.LastIndexByte(value, '@')
	if at < 1 || at > 64 || len(value)-at-1 < 1 || len(value)-at-1 > 255 || !utf8.ValidString(value) {
		return false
	}
	return !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}
