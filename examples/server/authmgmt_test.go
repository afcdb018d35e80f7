package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// TestInvitationLinks: the links begin with the address that the operator gave.
func TestInvitationLinks(t *testing.T) {
	b := storages["memory"](t)
	s, err := wire(&settings{publicURL: "https://example.com/sub"}, b, testKey(), discard())
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.authmgmt.service.Invite(t.Context(), "acme", provisioner, authmgmt.NewInvitation{Email: "a@b", Name: "n", FullAccess: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.authmgmt.service.URL(t.Context(), &i)
	if err != nil {
		t.Fatal(err)
	}
	link, err := url.Parse(text.Reveal())
	if err != nil || !strings.HasPrefix(link.String(), "https://example.com/sub"+httpadapter.AcceptPath) {
		t.Errorf("%s, %v", link, err)
	}
}

// TestRefusalsAreLogged: an operator sees who tried what in vain, once, and no secret.
func TestRefusalsAreLogged(t *testing.T) {
	b := storages["memory"](t)
	var log bytes.Buffer
	s, err := wire(testSettings(), b, testKey(), slog.New(slog.NewJSONHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, service := t.Context(), s.authmgmt.service
	if err := apply(t, s, orgDocument("acme", true, "[]", "[]")); err != nil {
		t.Fatal(err)
	}
	_, _, loginErr := service.Login(ctx, "c1", docSecret)
	_, tokenErr := service.VerifyToken(ctx, docToken)
	_, updateErr := service.UpdateClient(ctx, "acme", provisioner, "c1", authmgmt.ClientUpdate{})
	if err := errors.Join(loginErr, tokenErr, updateErr); err != nil || log.Len() > 0 {
		t.Errorf("%v; what went well was logged: %s", err, &log)
	}
	if _, err := service.VerifyToken(ctx, "nonsense"); !errors.Is(err, authmgmt.ErrInvalidCredentials) || log.Len() > 0 {
		t.Errorf("%v; logged %s", err, &log)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, _, err := service.Login(ended, "c1", docSecret); !errors.Is(err, mortise.ErrUnavailable) || log.Len() > 0 {
		t.Errorf("%v; logged %s", err, &log)
	}
	log.Reset()
	none := []access.Role{}
	mallory := authmgmt.Caller{Actor: "mallory", Access: access.DefaultCatalogue().Access(access.Role{ID: "admin"})}
	if _, err := service.UpdateClient(ctx, "acme", mallory, "c1", authmgmt.ClientUpdate{Roles: &none, FullAccess: true}); !errors.Is(err, authmgmt.ErrForbidden) {
		t.Error(err)
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), `"kind":"client_updated","organization":"acme","actor":"mallory","target":"c1"`) {
		t.Errorf("logged %s", &log)
	}
}
