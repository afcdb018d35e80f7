package httpadapter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// A client gets a token from the token endpoint, and limits itself to what it needs.
func ExampleNewAuthMgmt() {
	ctx := context.Background()
	db, _ := memory.Open(ctx, nil)
	service, err := authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store}, nil)
	if err != nil {
		log.Fatal(err)
	}
	operator := authmgmt.Caller{Actor: "operator", Access: access.Full()}
	client, secret, err := service.CreateClient(ctx, "acme", operator, authmgmt.NewClient{Name: "CI", FullAccess: true})
	if err != nil {
		log.Fatal(err)
	}

	credentials, err := httpadapter.NewAuthMgmt(service, httpadapter.Bearer(httpadapter.AccessTokens(service)),
		&httpadapter.AuthMgmtOptions{Login: true})
	if err != nil {
		log.Fatal(err)
	}
	send := func(method, path, contentType, authorization, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		credentials.ServeHTTP(w, r)
		return w
	}

	r := httptest.NewRequest(http.MethodPost, "/api/v0/login", nil)
	r.SetBasicAuth(url.QueryEscape(client.ID), url.QueryEscape(secret.Reveal()))
	w := send(r.Method, r.URL.Path, "application/x-www-form-urlencoded", r.Header.Get("Authorization"), "grant_type=client_credentials")
	var token struct {
		Text string `json:"access_token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &token); err != nil {
		log.Fatal(err)
	}

	path := "/api/v1/auth-management/clients/" + client.ID
	for _, body := range []string{`{"roles":[{"role_id":"viewer"}]}`, `{"roles":[{"role_id":"admin"}]}`} {
		w = send(http.MethodPut, path, "application/json", "Bearer "+token.Text, body)
		fmt.Println(w.Code, strings.ReplaceAll(w.Body.String(), client.ID, "..."))
	}
	// Output:
	// 200 {"client_id":"...","client_secret":"","name":"CI","roles":[{"role_id":"viewer","resource":null,"resource_instance":null}]}
	// 403 {"detail":"These credentials do not allow this operation."}
}

// A person accepts an invitation on the page, and gets the access token that the host's
// Grant has made.
func ExampleNewAuthMgmt_acceptPage() {
	ctx := context.Background()
	db, _ := memory.Open(ctx, nil)
	// A host reads the text of the key from a file, say.
	key, err := authmgmt.ParseInvitationKey("000102030405060708090a0b0c0d0e0f202122232425262728292a2b2c2d2e2f")
	if err != nil {
		log.Fatal(err)
	}
	var service *authmgmt.Service
	service, err = authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store}, &authmgmt.Options{
		AcceptURL:     "https://api.example.com" + httpadapter.AcceptPath,
		InvitationKey: key,
		Grant: func(ctx context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
			if !a.Attended {
				return mortise.Secret{}, authmgmt.ErrUnattended // nobody would see the token
			}
			by := authmgmt.Caller{Actor: "invitation", Access: service.Catalogue().Access(a.Invitation.Roles...)}
			_, text, err := service.IssueToken(ctx, a.Invitation.Organization, by,
				authmgmt.NewToken{Subject: a.Invitation.AcceptedBy, Roles: a.Invitation.Roles, FullAccess: a.Invitation.FullAccess()})
			return text, err
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	pages, err := httpadapter.NewAuthMgmt(service, httpadapter.Bearer(httpadapter.AccessTokens(service)),
		&httpadapter.AuthMgmtOptions{AcceptPage: true})
	if err != nil {
		log.Fatal(err)
	}
	operator := authmgmt.Caller{Actor: "operator", Access: access.Full()}
	invitation, err := service.Invite(ctx, "acme", operator, authmgmt.NewInvitation{
		Email: "ada@example.com", Name: "Ada", Roles: []access.Role{{ID: "viewer"}},
	})
	if err != nil {
		log.Fatal(err)
	}

	url, err := service.URL(ctx, &invitation)
	if err != nil {
		log.Fatal(err)
	}
	path := strings.TrimPrefix(url.Reveal(), "https://api.example.com")
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPost} {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		_, rest, _ := strings.Cut(w.Body.String(), "<h1>")
		title, _, _ := strings.Cut(rest, "</h1>")
		fmt.Println(w.Code, title, strings.Contains(rest, "at-"))
	}
	// Output:
	// 200 You are invited false
	// 200 The invitation is accepted true
	// 404 This invitation cannot be used false
}
