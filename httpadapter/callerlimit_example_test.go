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

// Each caller may make a request in ten seconds. Invalid requests count, too.
func ExampleCallerLimit() {
	db, _ := memory.Open(context.Background(), nil)
	triggers, err := trigger.New(db.Trigger(), nil)
	if err != nil {
		log.Fatal(err)
	}
	people := httpadapter.Bearer(func(_ context.Context, token string) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Subject: token, Access: access.Full()}, nil
	})
	limit, err := httpadapter.NewCallerLimit(0.1)
	if err != nil {
		log.Fatal(err)
	}
	handler, err := httpadapter.NewTrigger(triggers, limit.Around(people), nil)
	if err != nil {
		log.Fatal(err)
	}

	submit := func(who, body string) int {
		r := httptest.NewRequest(http.MethodPost, "/triggers", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+who)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	fmt.Println("ada:", submit("ada", `{}`))
	fmt.Println("ada:", submit("ada", `{"instructions":"Document the new flag."}`))
	fmt.Println("grace:", submit("grace", `{"instructions":"Document the new flag."}`))
	// Output:
	// ada: 422
	// ada: 429
	// grace: 202
}
