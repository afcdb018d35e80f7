package embed

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// addCredentials adds machine credentials and invitations to the host, under
// /credentials. Invitations lead to a page of the host's own, where people are signed in,
// and make them members. The host runs the service beside its HTTP server, as in
// group.Go(func() error { return service.Run(ctx) }).
func addCredentials(ctx context.Context, r chi.Router, address string, key authmgmt.InvitationKey, m *members) (*authmgmt.Service, error) {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	service, err := authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store}, &authmgmt.Options{
		AcceptURL:     address + "/join/",
		InvitationKey: key,
		Admit:         signedInAsInvitee,
		Grant:         m.grant,
	})
	if err != nil {
		return nil, err
	}
	// Managers are people of the host's; machines come with access tokens of this
	// service.
	machines := httpadapter.Bearer(httpadapter.AccessTokens(service))
	auth := httpadapter.AuthenticatorFunc(func(r *http.Request) (httpadapter.Principal, error) {
		if p, err := manager(r); err == nil {
			return p, nil
		}
		return machines.Authenticate(r)
	})
	handler, err := httpadapter.NewAuthMgmt(service, auth, &httpadapter.AuthMgmtOptions{Clients: true, Invitations: true, Login: true})
	if err != nil {
		return nil, err
	}
	r.Handle("/credentials/*", http.StripPrefix("/credentials", handler))
	r.Get("/join/{token}", ask)
	r.Post("/join/{token}", join(service))
	return service, nil
}

// manager says who is asking, if it is somebody who may manage credentials. He gets full
// access; a host with finer ranks maps them to roles.
func manager(r *http.Request) (httpadapter.Principal, error) {
	c, ok := claimsFrom(r.Context())
	if !ok || c.Tenant == "" || !c.Manager {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}
	return httpadapter.Principal{Organization: c.Tenant, Subject: c.Subject, Access: access.Full()}, nil
}

// ask is the page behind an invitation's link. To open it changes nothing: some mail
// programs look at links before people do.
func ask(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer") // the address is the secret
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(`<!DOCTYPE html><title>Join</title><form method="post"><button>Join the docs team</button></form>`))
}

// join is what the button of that page does.
func join(service *authmgmt.Service) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, ok := claimsFrom(r.Context())
		if !ok || c.Subject == "" {
			http.Error(w, "sign in first", http.StatusUnauthorized)
			return
		}
		_, reply, err := service.Accept(r.Context(), chi.URLParam(r, "token"), mortise.Actor(c.Subject))
		switch {
		case errors.Is(err, authmgmt.ErrForbidden):
			http.Error(w, "this invitation is for somebody else", http.StatusForbidden)
		case errors.Is(err, mortise.ErrNotFound):
			http.Error(w, "this invitation cannot be used any more", http.StatusNotFound)
		case err != nil:
			http.Error(w, "try again in a moment", http.StatusServiceUnavailable)
		default:
			_, _ = w.Write([]byte(reply.Reveal()))
		}
	}
}

// signedInAsInvitee refuses a link that somebody else has got hold of. The host's
// subjects are email addresses.
func signedInAsInvitee(_ context.Context, i authmgmt.Invitation, person mortise.Actor) error {
	if !strings.EqualFold(string(person), i.Email) {
		return errors.New("signed in as somebody else")
	}
	return nil
}

// members is the host's own table of who belongs to which tenant.
type members struct {
	mu   sync.Mutex
	rows map[[2]string][]access.Role // by tenant and person
}

// grant makes the invitee a member. It may run twice, which changes nothing.
func (m *members) grant(_ context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows == nil {
		m.rows = make(map[[2]string][]access.Role)
	}
	m.rows[[2]string{a.Invitation.Organization, a.Invitation.AcceptedBy}] = a.Invitation.Roles
	return mortise.NewSecret("welcome to " + a.Invitation.Organization), nil
}
