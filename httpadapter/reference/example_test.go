package reference_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/seed-6363c74e/mortise/httpadapter/reference"
)

// A document becomes a page that is served beside the API. The document usually comes from httpadapter.OpenAPI.
func ExampleNew() {
	document := `{
		"openapi": "3.1.0",
		"info": {"title": "Doors", "version": "1.0.0"},
		"servers": [{"url": "https://api.example.com"}],
		"paths": {"/doors": {"get": {"operationId": "listDoors", "summary": "List the doors", "responses": {"200": {"description": "The doors."}}}}}
	}`
	page, err := reference.New([]byte(document))
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /docs", page)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/docs", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	fmt.Println(strings.Contains(w.Body.String(), "<h1>Doors</h1>"))

	_, err = reference.New([]byte(`{"swagger": "2.0"}`))
	fmt.Println(err)
	// Output:
	// 200 text/html; charset=utf-8
	// true
	// reference: the document is not OpenAPI 3.1: its member openapi is ""
}
