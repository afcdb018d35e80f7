package main

import (
	"context"
	"fmt"
	"io"
	"text/template"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/trigger"
)

// The demo's organization, and its one doc collection.
const demoOrganization = "demo"

var demoCollection = uuid.MustParse("5c1d3a52-8f0e-4b0f-9d35-6f3f1f0f4a01")

// startDemo provisions the demo with a fresh API key, and prints commands that use it. It is the only time that the key is shown.
func startDemo(ctx context.Context, stdout io.Writer, s *services, address string, docs bool) error {
	service := s.trigger.service
	err := service.UpdateOrganization(ctx, demoOrganization, func(o *trigger.Organization) error {
		o.SetupComplete = true
		o.SetCollection(demoCollection, true)
		return nil
	})
	if err != nil {
		return fmt.Errorf("provision the demo: %w", err)
	}
	key, _, err := service.IssueKey(ctx, demoOrganization, "demo")
	if err != nil {
		return fmt.Errorf("issue the demo's API key: %w", err)
	}
	return demoText.Execute(stdout, map[string]any{"URL": address, "Key": key, "Docs": docs})
}

// demoText are lines to paste into a POSIX shell. Each command stands on one line and needs nothing but the shell and curl.
var demoText = template.Must(template.New("demo").Parse(`
# This is a demo, with an API key of its own that ends with it. Paste these lines into another terminal.

# Submit a trigger:
curl -sS -w '\n' {{.URL}}/triggers -H 'Authorization: Bearer {{.Key}}' -H 'Content-Type: application/json' -d '{"instructions":"Describe the new sign-in page in the user guide.","context":{"commit":"4f2a9c1"}}'

# List the history, newest first:
curl -sS -w '\n' '{{.URL}}/triggers?limit=10' -H 'Authorization: Bearer {{.Key}}'

# Submit another one, and read it back by its ID:
id=$(curl -sS {{.URL}}/triggers -H 'Authorization: Bearer {{.Key}}' -H 'Content-Type: application/json' -d '{"instructions":"Add the release notes."}') && id=${id#*:\"} && curl -sS -w '\n' "{{.URL}}/triggers/${id%\"*}" -H 'Authorization: Bearer {{.Key}}'

# See how a mistake is answered (422):
curl -sS -w '\n%{http_code}\n' {{.URL}}/triggers -H 'Authorization: Bearer {{.Key}}' -H 'Content-Type: application/json' -d '{"instructions":"","priority":1}'
{{if .Docs}}
# Read the API reference: {{.URL}}/docs
{{end}}`))
