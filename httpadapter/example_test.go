package httpadapter_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// A service's own mux takes the trigger routes, with API keys that Mortise issues.
func Example() {
	ctx := context.Background()
	db, _ := memory.Open(ctx, nil)
	service, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil), Keys: db.Trigger().Keys}, nil)
	if err != nil {
		log.Fatal(err)
	}
	_, key, err := service.IssueKey(ctx, "acme", "ann", "ci")
	if err != nil {
		log.Fatal(err)
	}

	triggers, err := httpadapter.NewTrigger(service, httpadapter.Bearer(httpadapter.TriggerKeys(service)), nil)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/docs-api/", http.StripPrefix("/docs-api", triggers))

	r := httptest.NewRequest("POST", "/docs-api/triggers", strings.NewReader(`{"instructions":"Document the new flag"}`))
	r.Header.Set("Authorization", "Bearer "+key.Reveal())
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code)
	// Output: 202
}

// A host that knows its callers by a session says so in one function.
func ExampleAuthenticator() {
	type sessionKey struct{}
	auth := httpadapter.AuthenticatorFunc(func(r *http.Request) (httpadapter.Principal, error) {
		organization, ok := r.Context().Value(sessionKey{}).(string)
		if !ok {
			return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
		}
		return httpadapter.Principal{Organization: organization, Access: access.Full()}, nil
	})
	r := httptest.NewRequest("GET", "/", nil)
	_, err := auth.Authenticate(r)
	fmt.Println(err)
	p, _ := auth.Authenticate(r.WithContext(context.WithValue(r.Context(), sessionKey{}, "acme")))
	fmt.Println(p.Organization)
	// Output:
	// httpadapter: unauthenticated
	// acme
}

// Several services under one prefix are joined, and the host mounts one handler.
func ExampleJoin() {
	db, _ := memory.Open(context.Background(), nil)
	service, _ := trigger.New(db.Trigger(), nil)
	nobody := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	})
	triggers, _ := httpadapter.NewTrigger(service, nobody, nil)
	joined, err := httpadapter.Join("/internal", triggers)
	if err != nil {
		log.Fatal(err)
	}
	w := httptest.NewRecorder()
	joined.ServeHTTP(w, httptest.NewRequest("GET", "/internal/nothing", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 404 {"error":"not_found","message":"There is nothing at this address."}
}

// A host counts requests by operation, and puts its own handler round each one.
func ExampleObserver() {
	counts := make(map[string]int)
	db, _ := memory.Open(context.Background(), nil)
	service, _ := trigger.New(db.Trigger(), nil)
	nobody := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	})
	triggers, err := httpadapter.NewTrigger(service, nobody, &httpadapter.TriggerOptions{Options: httpadapter.Options{
		Observer: func(_ context.Context, r httpadapter.RequestObservation) {
			counts[fmt.Sprintf("%s %s %d", r.Operation.Service, r.Operation.ID, r.Status)]++
		},
		Wrap: func(op httpadapter.Operation, next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Println("span:", op.Method, op.Pattern)
				next.ServeHTTP(w, r)
			})
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	triggers.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/triggers", nil))
	fmt.Println(counts)
	// Output:
	// span: POST /triggers
	// map[trigger submitApiTrigger 401:1]
}
