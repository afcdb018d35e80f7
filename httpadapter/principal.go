package httpadapter

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Principal is who is asking. Everything that is read or written belongs to its
// organization. A [CallerLimit] counts by organization and subject: callers without a subject
// share one limit.
type Principal struct {
	Organization string        // never empty
	Subject      string        // the person, key or client, for the host's own records
	Access       access.Access // what it may do; its zero value allows nothing

	endsWithOrganization bool // its credential, which is one of this module
}

// Errors of an Authenticator or an Authorize function, beside [RateLimitError]. Any other
// error is logged and answered with 503.
var (
	ErrUnauthenticated = errors.New("httpadapter: unauthenticated") // 401
	ErrForbidden       = errors.New("httpadapter: forbidden")       // 403
)

// RateLimitError is an error of an Authenticator or an Authorize function: the caller has
// asked too often. It is answered with 429 (RFC 6585 section 4), in the shape of the
// service.
type RateLimitError struct {
	RetryAfter time.Duration // how long to wait; the header has whole seconds, rounded up, 1 at least
}

func (e *RateLimitError) Error() string {
	return "httpadapter: too many requests, again in " + e.RetryAfter.String()
}

// header says when to come again.
func (e *RateLimitError) header() http.Header {
	seconds := max(1, int64((e.RetryAfter+time.Second-1)/time.Second))
	return http.Header{"Retry-After": {strconv.FormatInt(seconds, 10)}}
}

// Authenticator finds out who is asking: from a token, a session, a client certificate,
// or a value that the host's own middleware put into the request's context. It must not
// read the body, and must be safe for concurrent use. A request without valid credentials
// is [ErrUnauthenticated].
type Authenticator interface {
	Authenticate(r *http.Request) (Principal, error)
}

// AuthenticatorFunc makes an Authenticator of a function.
type AuthenticatorFunc func(r *http.Request) (Principal, error)

// Authenticate calls f.
func (f AuthenticatorFunc) Authenticate(r *http.Request) (Principal, error) { return f(r) }

// Bearer authenticates by the token of the Authorization header (RFC 6750 section 2.1).
// The scheme's case does not matter; there must be exactly one such header; a token in
// the query or the body is not looked at. verify returns [ErrUnauthenticated] for a token
// that is unknown, expired or revoked. It must not be nil: [NewTrigger], [NewVault] and
// the others return an error then.
func Bearer(verify func(ctx context.Context, token string) (Principal, error)) Authenticator {
	return bearer(verify)
}

type bearer func(ctx context.Context, token string) (Principal, error)

func (verify bearer) Authenticate(r *http.Request) (Principal, error) {
	if verify == nil { // a host may ask it without a Handler
		return Principal{}, errNoVerify
	}
	token, ok := bearerToken(r.Header["Authorization"])
	if !ok {
		return Principal{}, ErrUnauthenticated
	}
	return verify(r.Context(), token)
}

var errNoVerify = errors.New("httpadapter: Bearer needs a function that verifies tokens, " +
	"and of a service that is nil there is none")

// checkAuthenticator finds what is missing in an authenticator of this package.
func checkAuthenticator(a Authenticator) error {
	switch a := a.(type) {
	case AuthenticatorFunc:
		if a == nil {
			return errors.New("httpadapter: the AuthenticatorFunc is nil")
		}
	case bearer:
		if a == nil {
			return errNoVerify
		}
	case firstOf:
		return a.check()
	case limited:
		return a.check()
	}
	return nil
}

func bearerToken(headers []string) (string, bool) {
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(headers[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	token = strings.TrimLeft(token, " ")
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return "", false
		}
	}
	return token, token != ""
}

// TriggerKeys returns a check for [Bearer] over the API keys of a trigger service. A valid
// key has the access [access.APIKey]; the principal's subject is "api_key:" and the key's
// ID. Of nil it returns nil.
func TriggerKeys(s *trigger.Service) func(ctx context.Context, token string) (Principal, error) {
	if s == nil {
		return nil
	}
	return func(ctx context.Context, token string) (Principal, error) {
		key, err := s.VerifyKey(ctx, token)
		if errors.Is(err, trigger.ErrInvalidKey) {
			return Principal{}, ErrUnauthenticated
		}
		if err != nil {
			return Principal{}, err
		}
		return Principal{Organization: key.Organization, Subject: "api_key:" + key.ID.String(), Access: access.APIKey(), endsWithOrganization: true}, nil
	}
}

// AccessTokens returns a check for [Bearer] over the access tokens of a credentials
// service. The principal has the access that the token gives at this moment. Of nil it
// returns nil.
func AccessTokens(s *authmgmt.Service) func(ctx context.Context, token string) (Principal, error) {
	if s == nil {
		return nil
	}
	return func(ctx context.Context, token string) (Principal, error) {
		id, err := s.VerifyToken(ctx, token)
		if errors.Is(err, authmgmt.ErrInvalidCredentials) {
			return Principal{}, ErrUnauthenticated
		}
		if err != nil {
			return Principal{}, err
		}
		return Principal{Organization: id.Organization, Subject: id.Subject, Access: id.Access, endsWithOrganization: true}, nil
	}
}
