package httpadapter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

func TestOpenAPIServers(t *testing.T) {
	h := describedTrigger(t, TriggerOptions{})
	doc, err := OpenAPI([]string{"https://api.example.com/internal/", "http://[::1]:8080", "/"}, h, h)
	require.NoError(t, err)
	var got struct{ Servers []struct{ URL string } }
	require.NoError(t, json.Unmarshal(doc, &got))
	require.Equal(t, []struct{ URL string }{{"https://api.example.com/internal"}, {"http://[::1]:8080"}, {"/"}}, got.Servers)

	doc, err = OpenAPI(nil, h)
	require.NoError(t, err)
	require.NotContains(t, string(doc), `"servers"`)
	for _, bad := range []string{"", "api.example.com", "ftp://example.com", "https://", "https://user:secret@example.com", "https://example.com?a=b",
		"https://example.com/#a", "//example.com", "https://example.com:port"} {
		_, err := OpenAPI([]string{bad}, h)
		require.ErrorContains(t, err, "a server must be", bad)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestOpenAPIRefuses(t *testing.T) {
	_, err := OpenAPI(nil)
	require.Error(t, err)
	_, err = OpenAPI(nil, nil)
	require.Error(t, err)
	_, err = OpenAPI(nil, &Handler{name: "unknown"})
	require.ErrorContains(t, err, `describe service "unknown"`)
	_, err = OpenAPI(nil, &Handler{name: "trigger", routes: []Route{{Operation: Operation{ID: "other", Method: "GET", Pattern: "/triggers"}}}})
	require.ErrorContains(t, err, `GET /triggers is not described as "other"`)
}

// otherService is the file of a service that there is not.
const otherService = `{
	"openapi": "3.1.0",
	"info": {"title": "Others", "version": "2.0.0", "description": "Others of the \"kind\"."},
	"tags": [{"name": "Others"}, {"name": "Unused"}],
	"paths": {"/others/{id}": {
		"delete": {"operationId": "deleteOther", "tags": ["Others"], "security": [{"key": []}], "responses": {
			"422": {"description": "Invalid.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}, "example": {"$ref": "data"}}}}}},
		"get": {"operationId": "getOther", "responses": {"200": {"description": "Fine.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Unused"}}}}}}
	}},
	"components": {
		"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
		"schemas": {
			"Unused": {},
			"A": {"properties": {"value": {"$ref": "#/components/schemas/B"}, "tags": {"items": {"$ref": "#/components/schemas/A"}}}},
			"B": {"const": {"$ref": "data"}}
		}
	}
}`

func otherMounted() *describedService {
	return &describedService{name: "other", ops: []Operation{{Service: "other", ID: "deleteOther", Method: "DELETE", Pattern: "/others/{id}"}}}
}

func TestOpenAPIMergesServices(t *testing.T) {
	one := &describedService{name: "trigger", features: map[string]bool{}}
	one.include(describedTrigger(t, TriggerOptions{}))
	file, err := openapiFiles.ReadFile("openapi/trigger.json")
	require.NoError(t, err)
	doc := new(openapiDocument)
	require.NoError(t, doc.add(one, file))
	require.NoError(t, doc.add(otherMounted(), []byte(otherService)))
	encoded, err := doc.encode(nil)
	require.NoError(t, err)
	root, err := strictjson.Parse(encoded, 0)
	require.NoError(t, err)

	require.Equal(t, []string{"/triggers", "/others/{id}"}, keys(at(root, "paths")))
	require.Equal(t, []string{"delete"}, keys(at(root, "paths", "/others/{id}")))
	require.Equal(t, []string{"bearerAuth", "key"}, keys(at(root, "components", "securitySchemes")))
	require.Equal(t, []string{"TriggerRequest", "TriggerAccepted", "Error", "HTTPValidationError", "ValidationError", "A", "B"},
		keys(at(root, "components", "schemas")))
	require.Equal(t, "Mortise", at(root, "info", "title").Text())
	first, err := strictjson.Parse(file, 0)
	require.NoError(t, err)
	require.Equal(t, at(first, "info", "description").Text(), at(root, "info", "description").Text())
	var tags []string
	for _, tag := range at(root, "tags").Elements() {
		tags = append(tags, at(tag, "name").Text())
	}
	require.Equal(t, []string{"Triggers", "Others"}, tags)
}

// TestOpenAPIIntroducesServicesAlike: the documents of all services have one version and one
// introduction, so a document of several services has them once.
func TestOpenAPIIntroducesServicesAlike(t *testing.T) {
	introductions := make(map[string]bool)
	for _, name := range []string{"trigger", "authmgmt", "vault", "audiosearch"} {
		file, err := openapiFiles.ReadFile("openapi/" + name + ".json")
		require.NoError(t, err)
		root, err := strictjson.Parse(file, 0)
		require.NoError(t, err)
		info := at(root, "info")
		introductions[at(info, "version").Text()+": "+at(info, "description").Text()] = true
		require.LessOrEqual(t, len(strings.Fields(at(info, "description").Text())), 150)
	}
	require.Len(t, introductions, 1)
}

func TestOpenAPIRefusesConflicts(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"component": {`"B": {"const": {"$ref": "data"}}`, `"B": {"const": 2}`, `the component schemas "B" stands in another`},
		"tag":       {`{"name": "Others"}`, `{"name": "Others", "description": "x"}`, `the tag "Others" stands in another`},
		"operation": {`"version": "2.0.0"`, `"version": "2.0.1"`, "DELETE /others/{id} is answered by another service"},
		"reference": {`"B": {"const": {"$ref": "data"}}`, `"C": {}`, `the reference "#/components/schemas/B" leads nowhere`},
		"JSON":      {`{"name": "Unused"}`, `{"name": "Unused"`, "expecting"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := new(openapiDocument)
			changed := strings.Replace(otherService, c.from, c.to, 1)
			require.NotEqual(t, otherService, changed)
			second := otherMounted()
			if name != "operation" {
				changed = strings.ReplaceAll(changed, "/others/{id}", "/more/{id}")
				second.ops[0].Pattern = "/more/{id}"
			}
			require.NoError(t, doc.add(otherMounted(), []byte(otherService)))
			err := doc.add(second, []byte(changed))
			require.ErrorContains(t, err, c.want)
		})
	}
}
