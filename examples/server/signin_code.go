package main

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	signInTime  = 15 * time.Minute
	wrongCodes  = 30 // a minute; further ones are answered with 429
	signInBytes = 24 // 192 bits; home.js knows a code by its 32 characters
)

// signInCode is the digest of a code that begins one session. A wrong code changes nothing,
// or else a stranger could end the right one. The limit on wrong codes never refuses the
// right one, for the same reason.
type signInCode struct {
	now   func() time.Time
	ends  time.Time
	wrong *rate.Limiter

	mu     sync.Mutex
	digest []byte // nil once the code was used
}

// newSignInCode returns a code, and its text, which is kept nowhere.
func newSignInCode(now func() time.Time) (c *signInCode, text string) {
	random := make([]byte, signInBytes)
	_, _ = rand.Read(random) // never fails
	text = base64.RawURLEncoding.EncodeToString(random)
	digest := sha256.Sum256([]byte(text))
	return &signInCode{
		now: now, digest: digest[:],
		ends:  now().Add(signInTime).Round(0), // by the wall clock: the other one rests while the machine sleeps
		wrong: rate.NewLimiter(rate.Every(time.Minute/wrongCodes), wrongCodes),
	}, text
}

// use ends the code, and returns an error unless the text is the code and comes in
// time.
func (c *signInCode) use(text string) error {
	digest := sha256.Sum256([]byte(text))
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	right := subtle.ConstantTimeCompare(digest[:], c.digest) == 1
	switch {
	case !right && !c.wrong.AllowN(now, 1):
		return &refusal{http.StatusTooManyRequests, "Too many links were tried that do not work. Try again later."}
	case !right:
		return errSignIn
	}
	c.digest = nil
	if now.Round(0).Before(c.ends) {
		return nil
	}
	return errSignIn
}

var errSignIn = &refusal{http.StatusUnauthorized, "This link does not sign you in: it was used, or is older than 15 minutes, " +
	"or the server was started again since. The sound search takes the access token that the server has printed."}
