package vault

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
)

// Tokenizer makes the tokens of new values. It is safe for concurrent use.
//
// A token must not be computable from the value: it is what everybody may see. The service stores it under a unique constraint and asks
// again if it is taken.
type Tokenizer interface {
	// CheckFormat returns an error that says what a column's Format may be, if it is not that.
	CheckFormat(format string) error

	// Token returns a random token for a value that is about to be stored: 1 to 255 bytes of UTF-8, without U+0000. attempt counts from 0, how often
	// the token before was taken. A value that does not fit the format is an error that wraps [ErrFormat]; it says what would fit and
	// never holds the value. It is [ErrExhausted] if there are no further tokens.
	Token(ctx context.Context, f Field, value string, attempt int) (string, error)
}

// Formats is the [Tokenizer] that a service uses by default. Its tokens are random. A column's format is one of
//
//   - "uuid", or "": a UUID of version 4 (RFC 9562).
//   - "prefix:NAME_": the prefix, of 1 to 32 letters, digits, - and _, and 26 characters of 130 random bits.
//   - "digits": as many digits as the value, which must be digits only, 6 to 100 of them.
//   - "digits:luhn": both value and token pass the Luhn check (ISO/IEC 7812-1 annex B).
//   - "digits:last4": the token keeps the value's last four digits. "digits:luhn,last4" is both.
//   - "email": an address with a random local part and the domain of Formats; "email:example.com" with that domain. The value must be an
//     address.
//
// A shape of fewer than 10^6 tokens is refused with [ErrFormat] for the values that have it: the vault would soon be full, and the tokens
// could be guessed. A token of digits never equals its value.
type Formats struct {
	EmailDomain string    // of "email"; "" is DefaultEmailDomain
	Rand        io.Reader // nil is crypto/rand.Reader; must be safe for concurrent use
}

// DefaultEmailDomain receives no mail, whatever happens (RFC 2606).
const DefaultEmailDomain = "tokens.invalid"

// CheckFormat implements [Tokenizer].
func (t *Formats) CheckFormat(format string) error {
	_, err := t.parse(format)
	return err
}

// Token implements [Tokenizer].
func (t *Formats) Token(_ context.Context, f Field, value string, _ int) (string, error) {
	make, err := t.parse(f.Format)
	if err != nil {
		return "", err
	}
	random := t.Rand
	if random == nil {
		random = rand.Reader
	}
	return make(random, value)
}

// generator makes a token for a value.
type generator func(random io.Reader, value string) (string, error)

var errFormatName = errors.New(`must be "uuid", "prefix:NAME_", "digits" (or "digits:luhn", "digits:last4", "digits:luhn,last4") or "email" (or "email:DOMAIN")`)

func (t *Formats) parse(format string) (generator, error) {
	kind, param, hasParam := strings.Cut(format, ":")
	switch {
	case format == "", format == "uuid":
		return newUUID, nil
	case kind == "prefix" && validPrefix(param):
		return func(random io.Reader, _ string) (string, error) { return randomText(random, param) }, nil
	case kind == "digits":
		if d, ok := parseDigits(param, hasParam); ok {
			return d.token, nil
		}
	case format == "email" && t.EmailDomain == "":
		return emailOf(DefaultEmailDomain), nil
	case format == "email":
		if !validDomain(t.EmailDomain) {
			return nil, errors.New("must name a domain: Formats.EmailDomain is none")
		}
		return emailOf(t.EmailDomain), nil
	case kind == "email" && validDomain(param):
		return emailOf(param), nil
	}
	return nil, errFormatName
}

func newUUID(random io.Reader, _ string) (string, error) {
	id, err := uuid.NewRandomFromReader(random)
	return id.String(), err
}

// base32Text is the alphabet of RFC 4648 section 6 in lower case, so that mail systems and file names keep it.
var base32Text = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// randomText returns a prefix and 26 characters, each of 5 random bits.
func randomText(random io.Reader, prefix string) (string, error) {
	const chars = 26
	var bits [(chars*5 + 7) / 8]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return prefix + base32Text.EncodeToString(bits[:])[:chars], nil
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

// validDomain reports whether a text is a domain name as host names are written (RFC 1123 section 2.1).
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

func emailOf(domain string) generator {
	return func(random io.Reader, value string) (string, error) {
		if !isEmail(value) {
			return "", fmt.Errorf("%w: an email address is needed", ErrFormat)
		}
		local, err := randomText(random, "")
		return local + "@" + domain, err
	}
}

// isEmail reports whether a value looks like an address: a local part of 1 to 64 bytes and a domain (RFC 5321 section 4.5.3.1), without spaces
// and control characters. What an address may be beyond that is for the mail system to say.
func isEmail(value string) bool {
	at := strings.LastIndexByte(value, '@')
	if at < 1 || at > 64 || len(value)-at-1 < 1 || len(value)-at-1 > 255 || !utf8.ValidString(value) {
		return false
	}
	return !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}
