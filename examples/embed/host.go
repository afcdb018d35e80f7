// Package embed shows a service that existed before: a chi router, its own JWTs, its own
// pages. triggers.go is all that it takes to add documentation triggers to it,
// invitations.go to add machine credentials and invitations, vault.go to add a vault and
// a sandbox, and sounds.go to add a search for sounds. moderator.go is the host's own
// policy of what found sounds are fit to be shown.
package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/golang-jwt/jwt/v5"
)

// claims are what this service's tokens say.
type claims struct {
	jwt.RegisteredClaims
	Tenant  string `json:"tenant"`
	Manager bool   `json:"manager,omitempty"` // may manage credentials, invite people and see plain values
}

// claimsKey is where the middleware leaves the claims.
type claimsKey struct{}

// claimsFrom returns the claims of a request that carried a valid token.
func claimsFrom(ctx context.Context) (*claims, bool) {
	c, ok := ctx.Value(claimsKey{}).(*claims)
	return c, ok
}

// withClaims is the service's own middleware: it verifies a token if there is one, and
// leaves it to the pages to demand one.
func withClaims(secret []byte) func(http.Handler) http.Handler {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
				c := new(claims)
				if _, err := parser.ParseWithClaims(text, c, func(*jwt.Token) (any, error) { return secret, nil }); err == nil {
					r = r.WithContext(context.WithValue(r.Context(), claimsKey{}, c))
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// newHost is the service as it was, with its front page.
func newHost(secret []byte) (chi.Router, error) {
	if len(secret) < 32 {
		return nil, errors.New("the secret of the tokens is too short")
	}
	r := chi.NewRouter()
	r.Use(withClaims(secret))
	r.Get("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "welcome to the docs team")
	})
	return r, nil
}
