package httpadapter_test

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// claims are what the host's own JWTs say.
type claims struct {
	Subject string `json:"sub"`
	Tenant  string `json:"tenant"`
	Role    string `json:"role"`
	Expires int64  `json:"exp"` // seconds since 1970
}

// jwtKey signs the host's JWTs. A host has a library for them.
type jwtKey []byte

const jwtHeader = `{"alg":"HS256","typ":"JWT"}`

func (k jwtKey) sign(signed string) string {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (k jwtKey) issue(c claims) string {
	payload, _ := json.Marshal(c)
	return k.sign(base64.RawURLEncoding.EncodeToString([]byte(jwtHeader)) + "." +
		base64.RawURLEncoding.EncodeToString(payload))
}

func (k jwtKey) verify(_ context.Context, token string) (httpadapter.Principal, error) {
	signed := token[:max(strings.LastIndexByte(token, '.'), 0)]
	header, payload, ok := strings.Cut(signed, ".")
	if !ok || !hmac.Equal([]byte(k.sign(signed)), []byte(token)) ||
		header != base64.RawURLEncoding.EncodeToString([]byte(jwtHeader)) {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}
	var c claims
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil || json.Unmarshal(text, &c) != nil || time.Now().Unix() >= c.Expires {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}
	access := access.DefaultCatalogue().Access(access.Role{ID: c.Role})
	return httpadapter.Principal{Organization: c.Tenant, Subject: "person:" + c.Subject, Access: access}, nil
}

// People come with the host's JWT, machines with an access token of authmgmt.
func ExampleFirstOf() {
	ctx := context.Background()
	db, _ := memory.Open(ctx, nil)
	credentials, err := authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store}, nil)
	if err != nil {
		log.Fatal(err)
	}
	key := make(jwtKey, 32)
	_, _ = rand.Read(key)
	auth := httpadapter.FirstOf(
		httpadapter.Bearer(key.verify), // it asks no store, so it comes first
		httpadapter.Bearer(httpadapter.AccessTokens(credentials)),
	)

	triggers, err := trigger.New(db.Trigger(), nil)
	if err != nil {
		log.Fatal(err)
	}
	handler, err := httpadapter.NewTrigger(triggers, auth, nil)
	if err != nil {
		log.Fatal(err)
	}
	submit := func(token string) int {
		body := strings.NewReader(`{"instructions":"Document the new flag"}`)
		r := httptest.NewRequest(http.MethodPost, "/triggers", body)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}

	in, past := time.Now().Add(time.Minute).Unix(), time.Now().Add(-time.Minute).Unix()
	fmt.Println("an editor:", submit(key.issue(claims{"grace", "acme", "editor", in})))
	fmt.Println("a viewer:", submit(key.issue(claims{"ada", "acme", "viewer", in})))
	fmt.Println("yesterday's editor:", submit(key.issue(claims{"grace", "acme", "editor", past})))

	operator := authmgmt.Caller{Actor: "operator", Access: access.Full()}
	_, machine, err := credentials.IssueToken(ctx, "acme", operator, authmgmt.NewToken{
		Subject: "ci", Roles: []access.Role{{ID: "editor"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a machine:", submit(machine.Reveal()))
	fmt.Println("anybody:", submit("a guess"))
	// Output:
	// an editor: 202
	// a viewer: 403
	// yesterday's editor: 401
	// a machine: 202
	// anybody: 401
}
