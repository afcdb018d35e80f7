package embed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/seed-6363c74e/mortise/trigger"
)

// exampleSecret signs the tokens of the example.
var exampleSecret = []byte("an example's secret, of 32 bytes or more")

// Example adds documentation triggers to a service that exists, and takes one request through it.
func Example() {
	ctx := context.Background()
	host, err := newHost(exampleSecret)
	if err != nil {
		log.Fatal(err)
	}
	// What the host does with an event: here it only says so.
	processor := func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		fmt.Printf("processing for %s: %s\n", e.Organization, e.Instructions)
		return trigger.Outcome{Summary: "Opened pull request 17."}, nil
	}
	worker, err := addTriggers(ctx, host, processor)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(host)
	defer server.Close()
	ada, eve := token("ada", "acme"), token("eve", "evil")

	fmt.Println(request("GET", server.URL+"/", "", ""))

	refused, _, _ := strings.Cut(request("POST", server.URL+"/triggers", "", `{"instructions":"Describe the sign-in page."}`), " ")
	fmt.Println(refused, "without a credential")

	answer := request("POST", server.URL+"/triggers", ada, `{"instructions":"Describe the sign-in page.","context":{"pr":16}}`)
	id := strings.Split(answer, `"`)[3]
	fmt.Println(strings.Replace(answer, id, "ID", 1))

	// A host runs worker.Run; one step by hand keeps the order of this output.
	if _, err := worker.RunOnce(ctx); err != nil {
		log.Fatal(err)
	}

	_, body, _ := strings.Cut(request("GET", server.URL+"/triggers/"+id, ada, ""), " ")
	var event struct {
		Status  string
		Context json.RawMessage
		Outcome struct{ Summary string }
	}
	if err := json.Unmarshal([]byte(body), &event); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s %s\n", event.Status, event.Context, event.Outcome.Summary)

	fmt.Println(request("GET", server.URL+"/triggers/"+id, eve, ""))
	// Output:
	// 200 welcome to the docs team
	// 401 without a credential
	// 202 {"trigger_event_id":"ID"}
	// processing for acme: Describe the sign-in page.
	// completed {"pr":16} Opened pull request 17.
	// 404 {"error":"not_found","message":"There is no such trigger event."}
}

// token signs a token as the host's login would.
func token(subject, tenant string) string {
	return sign(claims{Tenant: tenant}, subject)
}

// managerToken is the token of somebody who may manage credentials.
func managerToken(subject, tenant string) string {
	return sign(claims{Tenant: tenant, Manager: true}, subject)
}

func sign(c claims, subject string) string {
	c.Subject = subject
	c.ExpiresAt = jwt.NewNumericDate(time.Now().Add(time.Hour))
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(exampleSecret)
	if err != nil {
		log.Fatal(err)
	}
	return text
}

// request returns status and body of the answer.
func request(method, url, token, body string) string {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	return fmt.Sprintf("%d %s", answer.StatusCode, strings.TrimSpace(string(text)))
}
