package httpadapter

import (
	"errors"
	"fmt"
	"net/http"
)

// FirstOf asks several authenticators in turn: for a host whose people have a JWT and
// whose machines have an access token. The first one that does not answer
// [ErrUnauthenticated] decides. If all do, the answer is ErrUnauthenticated. Each sees
// the whole request, so put the one that costs the least first.
//
// Any other error ends the request at once, and nobody else is asked: if a store is away,
// the answer is a 503. A 401 would tell the caller to throw good credentials away. And
// the next authenticator may be a weaker check, which must not decide only because the
// stronger one could not. [ErrForbidden] decides, too, and so does a Principal without an
// organization, which is the authenticator's mistake and answered with 503, as it is
// without FirstOf.
//
// [NewTrigger], [NewVault] and the others return an error for a FirstOf that has nobody
// to ask, or a nil Authenticator or a Bearer of nil among them.
func FirstOf(authenticators ...Authenticator) Authenticator {
	return firstOf(append([]Authenticator(nil), authenticators...))
}

type firstOf []Authenticator

func (f firstOf) Authenticate(r *http.Request) (Principal, error) {
	if err := f.check(); err != nil { // a host may ask it without a Handler
		return Principal{}, err
	}
	for _, a := range f {
		p, err := a.Authenticate(r)
		switch {
		case err == nil:
			return p, nil
		case !errors.Is(err, ErrUnauthenticated):
			return withCaller(p, err)
		}
	}
	return Principal{}, ErrUnauthenticated
}

// check finds what is missing, also in the authenticators.
func (f firstOf) check() error {
	if len(f) == 0 {
		return errors.New("httpadapter: FirstOf needs an authenticator")
	}
	for i, a := range f {
		if a == nil {
			return fmt.Errorf("httpadapter: FirstOf was given a nil authenticator, number %d of %d", i+1, len(f))
		}
		if err := checkAuthenticator(a); err != nil {
			return err
		}
	}
	return nil
}
