package format

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// digits makes tokens of digits, as long as the value.
type digits struct {
	luhn  bool // value and token pass the Luhn check
	last4 bool // the token keeps the value's last four
}

// The bounds of a value of digits. Fewer have not 10^6 tokens.
const (
	minFreeDigits = 6
	maxDigits     = 100
	keptDigits    = 4
)

// parseDigits reads what stands behind "digits:".
func parseDigits(param string, given bool) (digits, bool) {
	var d digits
	if !given {
		return d, true
	}
	for word := range strings.SplitSeq(param, ",") {
		switch {
		case word == "luhn" && !d.luhn && !d.last4:
			d.luhn = true
		case word == "last4" && !d.last4:
			d.last4 = true
		default:
			return d, false
		}
	}
	return d, true
}

// least returns how many digits a value must have, so that there are 10^6 tokens for it.
func (d digits) least() int {
	n := minFreeDigits
	if d.last4 {
		n += keptDigits
	}
	if d.luhn {
		n++
	}
	return n
}

// fits returns an error if there are no tokens for a value.
func (d digits) fits(value string) error {
	if !digitsOnly(value) {
		return formatError("digits only are needed, without spaces and dashes")
	}
	if least := d.least(); len(value) < least || len(value) > maxDigits {
		return formatError("%d to %d digits are needed, for there must be a million tokens or more", least, maxDigits)
	}
	if d.luhn && luhnSum(value) != 0 {
		return formatError("the check digit is wrong (Luhn)")
	}
	return nil
}

func (d digits) token(random io.Reader, value string) (string, error) {
	if err := d.fits(value); err != nil {
		return "", err
	}
	for range maxTries {
		token, err := d.random(random, value)
		if err != nil || token != value {
			return token, err
		}
	}
	return "", errNotRandom
}

func (d digits) check(value, token string) error {
	if err := d.fits(value); err != nil {
		return err
	}
	switch {
	case len(token) != len(value) || !digitsOnly(token):
		return formatError("its token must be as many digits as the value")
	case d.luhn && luhnSum(token) != 0:
		return formatError("the check digit of its token is wrong (Luhn)")
	case d.last4 && token[len(token)-keptDigits:] != value[len(value)-keptDigits:]:
		return formatError("its token must end like the value, in the same %d digits", keptDigits)
	}
	return nil
}

func digitsOnly(text string) bool {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// maxTries bounds how often randomness is asked for, where one answer of a million will
// not do as a rule.
const maxTries = 100

var errNotRandom = errors.New("vault: the source of randomness is not random")

// random returns a token that may be the value.
func (d digits) random(random io.Reader, value string) (string, error) {
	token := []byte(value)
	free := len(token)
	if d.last4 {
		free -= keptDigits
	}
	if err := randomDigits(random, token[:free]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	if d.luhn {
		// The last free digit is the one that makes the sum right: each value of it gives
		// another sum.
		for c := byte('0'); c <= '9'; c++ {
			if token[free-1] = c; luhnSum(string(token)) == 0 {
				break
			}
		}
	}
	return string(token), nil
}

// randomDigits fills dst with digits, all equally likely.
func randomDigits(random io.Reader, dst []byte) error {
	const even = 250 // the largest multiple of 10 within a byte
	var bytes [2 * maxDigits]byte
	n := 0
	for range maxTries {
		chunk := bytes[:len(dst)-n]
		if _, err := io.ReadFull(random, chunk); err != nil {
			return err
		}
		for _, b := range chunk {
			if b < even {
				dst[n] = '0' + b%10
				n++
			}
		}
		if n == len(dst) {
			return nil
		}
	}
	return errNotRandom
}

// luhnSum returns the Luhn sum of digits modulo 10, which is 0 for a number that passes
// the check.
func luhnSum(number string) int {
	sum := 0
	for i := range len(number) {
		n := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum % 10
}
