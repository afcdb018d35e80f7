package openapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/e2e/openapi"
)

// things describes one operation. It has everything that a check looks at.
const things = `{
	"openapi": "3.1.0",
	"info": { "title": "Things", "version": "1" },
	"tags": [{ "name": "Things" }],
	"servers": [{ "url": "http://things.example/api" }],
	"security": [{ "key": [] }],
	"paths": { "/things/{id}": { "put": {
		"parameters": [
			{
				"name": "id", "in": "path", "required": true, "schema": { "type": "string", "format": "uuid" },
				"example": "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11"
			},
			{
				"name": "limit", "in": "query", "schema": { "type": "integer", "minimum": 1, "maximum": 10 },
				"example": 1
			},
			{
				"name": "since", "in": "query", "schema": { "type": "string", "format": "date-time" },
				"example": "2026-01-02T03:04:05Z"
			},
			{
				"name": "tag", "in": "query", "schema": { "type": "array", "items": { "type": "string" } },
				"example": ["a"]
			},
			{ "name": "Once", "in": "header", "schema": { "type": "string", "maxLength": 3 }, "example": "abc" },
			{ "name": "seen", "in": "cookie", "schema": { "type": "boolean" }, "example": true }
		],
		"requestBody": { "required": true, "content": {
			"application/json": { "schema": { "$ref": "#/components/schemas/Thing" }, "example": { "name": "a" } },
			"application/x-www-form-urlencoded": {
				"schema": {
					"type": "object", "required": ["name"],
					"properties": { "name": { "type": "string" }, "count": { "type": "integer" } }
				},
				"example": { "name": "a" }
			}
		} },
		"responses": {
			"200": {
				"description": "It is put.",
				"headers": { "Count": { "$ref": "#/components/headers/Count" } },
				"content": { "application/json": {
					"schema": { "$ref": "#/components/schemas/Thing" },
					"examples": { "short": { "value": { "name": "a" } } }
				} }
			},
			"204": { "description": "It was there.", "headers": { "Count": { "$ref": "#/components/headers/Count" } } }
		}
	} } },
	"components": {
		"securitySchemes": { "key": { "type": "http", "scheme": "bearer" } },
		"headers": { "Count": { "required": true, "schema": { "type": "integer" }, "example": 1 } },
		"schemas": {
			"Thing": {
				"type": "object",
				"required": ["name"],
				"properties": {
					"name": { "type": "string", "minLength": 1 },
					"kind": { "enum": ["a", "b"] },
					"mail": { "type": "string", "format": "email" },
					"link": { "type": "string", "format": "uri" },
					"part": { "$ref": "#/components/schemas/Part" },
					"parts": { "type": "array", "items": { "$ref": "#/components/schemas/Part" } },
					"all": { "allOf": [
						{ "$ref": "#/components/schemas/Part" },
						{ "properties": { "m": { "type": "integer" } } }
					] },
					"one": { "oneOf": [
						{ "$ref": "#/components/schemas/Part" },
						{ "required": ["k"], "properties": { "k": { "const": 1 } } }
					] },
					"none": { "type": "object", "not": { "required": ["x"] }, "properties": { "x": {} } },
					"open": {
						"type": ["object", "null"],
						"additionalProperties": { "$ref": "#/components/schemas/Part" }
					},
					"any": { "description": "Anything." }
				},
				"examples": [{ "name": "a", "kind": "b" }]
			},
			"Part": { "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } }
		}
	}
}`

const thing = `{"name":"a","kind":"a","mail":"a@b.example","link":"http://c.example/",` +
	`"part":{"n":1},"parts":[{"n":2}],"all":{"n":1,"m":2},"one":{"k":1},` +
	`"none":{},"open":{"x":{"n":3}},"any":{"x":{"y":[]}}}`

const id = "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11"

// changed is a text with one thing in it in place of another.
func changed(t *testing.T, text, old, new string) string {
	t.Helper()
	require.Contains(t, text, old)
	return strings.Replace(text, old, new, 1)
}

// bodies are changes of a thing that its schema does not allow.
var bodies = map[string][2]string{
	"extra field":                {`"name":"a"`, `"name":"a","x":1`},
	"extra field in a part":      {`"part":{"n":1}`, `"part":{"n":1,"x":1}`},
	"extra field in an item":     {`{"n":2}`, `{"n":2,"x":1}`},
	"extra field in allOf":       {`"m":2`, `"m":2,"x":1`},
	"extra field in oneOf":       {`"k":1`, `"k":1,"x":1`},
	"extra field in open fields": {`{"n":3}`, `{"n":3,"x":1}`},
	"missing field":              {`"name":"a",`, ``},
	"missing field in allOf":     {`"n":1,"m":2`, `"m":2`},
	"neither of oneOf":           {`"k":1`, `"k":2`},
	"what not forbids":           {`"none":{}`, `"none":{"x":1}`},
	"wrong type":                 {`"name":"a"`, `"name":1`},
	"null":                       {`"name":"a"`, `"name":null`},
	"fraction":                   {`"part":{"n":1}`, `"part":{"n":1.5}`},
	"too short":                  {`"name":"a"`, `"name":""`},
	"wrong enum":                 {`"kind":"a"`, `"kind":"c"`},
	"wrong email":                {`a@b.example`, `nobody`},
	"wrong uri":                  {`http://c.example/`, `c d`},
	"wrong open field":           {`{"x":{"n":3}}`, `{"x":3}`},
	"list":                       {thing, `[]`},
	"not JSON":                   {thing, `{`},
	"more than one value":        {thing, thing + `{}`},
	"nothing":                    {thing, ``},
}

func TestRequests(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	type request struct{ method, path, query, name, value, body string }
	fine := map[string]request{
		"plain":       {},
		"parameters":  {query: "?limit=10&since=2026-01-02T03:04:05Z"},
		"list":        {query: "?tag=a&tag=b"},
		"header":      {name: "Once", value: "abc"},
		"HTTP header": {name: "X-Request-Id", value: "a"},
		"cookie":      {name: "Cookie", value: "seen=true"},
		"charset":     {name: "Content-Type", value: "application/json; charset=utf-8"},
		"null":        {body: `{"name":"a","open":null,"any":null}`},
		"form":        {name: "Content-Type", value: form, body: "name=a&count=1"},
	}
	wrong := map[string]request{
		"other path":         {path: "/api/thing/" + id},
		"other server":       {path: "/ipa/things/" + id},
		"other method":       {method: "POST"},
		"wrong path":         {path: "/api/things/7f1f"},
		"unknown query":      {query: "?x=1"},
		"wrong query":        {query: "?limit=a"},
		"too large":          {query: "?limit=11"},
		"query twice":        {query: "?limit=1&limit=a"},
		"empty query":        {query: "?limit="},
		"wrong time":         {query: "?since=2026-01-02"},
		"long header":        {name: "Once", value: "abcd"},
		"unknown header":     {name: "X-Other", value: "a"},
		"encoded":            {name: "Content-Encoding", value: "gzip"},
		"set cookie":         {name: "Set-Cookie", value: "a=b"},
		"unknown cookie":     {name: "Cookie", value: "a=b"},
		"wrong cookie":       {name: "Cookie", value: "seen=often"},
		"no credentials":     {name: "Authorization"},
		"other credentials":  {name: "Authorization", value: "Basic YTpi"},
		"other media type":   {name: "Content-Type", value: "text/plain"},
		"no media type":      {name: "Content-Type"},
		"form, JSON":         {name: "Content-Type", value: form, body: thing},
		"form, extra field":  {name: "Content-Type", value: form, body: "name=a&x=1"},
		"form, no field":     {name: "Content-Type", value: form, body: "count=1"},
		"form, wrong type":   {name: "Content-Type", value: form, body: "name=a&count=b"},
		"form, twice":        {name: "Content-Type", value: form, body: "name=a&count=1&count=2"},
		"form, wrong escape": {name: "Content-Type", value: form, body: "name=%zz"},
	}
	for name, change := range bodies {
		r := request{body: changed(t, thing, change[0], change[1])}
		if r.body == "" {
			r.body = "none"
		}
		wrong["body, "+name] = r
	}
	send := func(t *testing.T, x request) error {
		if x.method == "" {
			x.method = "PUT"
		}
		if x.path == "" {
			x.path = "/api/things/" + id
		}
		switch x.body {
		case "":
			x.body = thing
		case "none":
			x.body = ""
		}
		address := "http://things.example" + x.path + x.query
		r, err := http.NewRequestWithContext(t.Context(), x.method, address, strings.NewReader(x.body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer x")
		r.Header.Set("Content-Type", "application/json")
		if r.Header.Del(x.name); x.value != "" {
			r.Header.Set(x.name, x.value)
		}
		d, err := openapi.New([]byte(things))
		require.NoError(t, err)
		return d.Request(r)
	}
	for name, x := range fine {
		t.Run(name, func(t *testing.T) { require.NoError(t, send(t, x)) })
	}
	for name, x := range wrong {
		t.Run(name, func(t *testing.T) { require.Error(t, send(t, x)) })
	}
}

func TestAnswers(t *testing.T) {
	type answer struct {
		status      int
		name, value string
		body        string
	}
	fine := map[string]answer{
		"plain":       {200, "", "", thing},
		"HTTP header": {200, "Cache-Control", "no-store", thing},
		"cookie":      {200, "Set-Cookie", "a=b", thing},
		"no body":     {204, "Content-Type", "", ""},
	}
	wrong := map[string]answer{
		"other status":     {202, "", "", thing},
		"redirect":         {307, "", "", thing},
		"no header":        {200, "Count", "", thing},
		"wrong header":     {200, "Count", "many", thing},
		"unknown header":   {200, "X-Other", "a", thing},
		"other media type": {200, "Content-Type", "text/html", thing},
		"no media type":    {200, "Content-Type", "", thing},
		"unknown body":     {204, "", "", thing},
	}
	for name, change := range bodies {
		wrong["body, "+name] = answer{200, "", "", changed(t, thing, change[0], change[1])}
	}
	receive := func(t *testing.T, x answer) error {
		r, err := http.NewRequestWithContext(t.Context(), "PUT", "http://things.example/api/things/"+id, nil)
		require.NoError(t, err)
		header := make(http.Header)
		header.Set("Content-Type", "application/json")
		header.Set("Count", "1")
		if header.Del(x.name); x.value != "" {
			header.Set(x.name, x.value)
		}
		d, err := openapi.New([]byte(things))
		require.NoError(t, err)
		body := io.NopCloser(strings.NewReader(x.body))
		return d.Response(r, &http.Response{StatusCode: x.status, Header: header, Body: body})
	}
	for name, x := range fine {
		t.Run(name, func(t *testing.T) { require.NoError(t, receive(t, x)) })
	}
	for name, x := range wrong {
		t.Run(name, func(t *testing.T) { require.Error(t, receive(t, x)) })
	}
}

func TestDocuments(t *testing.T) {
	valid := func(text string) error {
		d, err := openapi.New([]byte(text))
		if err != nil {
			return err
		}
		return d.Valid()
	}
	require.NoError(t, valid(things))
	for name, change := range map[string][2]string{
		"not JSON":                {things, `{`},
		"other version":           {`"3.1.0"`, `"2.0"`},
		"no info":                 {`"info": { "title": "Things", "version": "1" },`, ``},
		"no tag":                  {`"tags": [{ "name": "Things" }]`, `"tags": [{ "description": "b" }]`},
		"no title":                {`"title": "Things",`, ``},
		"unknown field":           {`"openapi"`, `"more": 1, "openapi"`},
		"unknown field of info":   {`"title"`, `"more": 1, "title"`},
		"unknown method":          {`"put": {`, `"putt": {`},
		"unknown operation field": {`"parameters"`, `"params": [], "parameters"`},
		"unknown parameter field": {`"name": "limit"`, `"more": 1, "name": "limit"`},
		"unknown media field":     {`"examples": { "short"`, `"more": 1, "examples": { "short"`},
		"unknown response field":  {`"description": "It is put."`, `"more": 1, "description": "It is put."`},
		"unknown header field":    {`"Count": { "required"`, `"Count": { "more": 1, "required"`},
		"unknown example field":   {`"short": {`, `"short": { "more": 1,`},
		"unknown scheme field":    {`"scheme": "bearer"`, `"scheme": "bearer", "more": 1`},
		"unknown components":      {`"securitySchemes"`, `"more": {}, "securitySchemes"`},
		"unknown server field":    {`"url"`, `"more": 1, "url"`},
		"path without a slash":    {`"/things/{id}"`, `"things/{id}"`},
		"no such path parameter":  {`"/things/{id}"`, `"/things/{ident}"`},
		"optional path parameter": {`"in": "path", "required": true`, `"in": "path"`},
		"parameter nowhere":       {`"in": "query"`, `"in": "body"`},
		"parameter twice":         {`"name": "since"`, `"name": "limit"`},
		"no schema":               {`"schema": { "type": "boolean" }, `, ``},
		"no description":          {`"description": "It was there.", `, ``},
		"null":                    {`"servers": [{ "url": "http://things.example/api" }]`, `"servers": null`},
		"wrong status":            {`"204"`, `"24"`},
		"unknown reference":       {`schemas/Thing`, `schemas/Nothing`},
		"nested reference":        {`"items": { "$ref": "#/components/schemas`, `"items": { "$ref": "#/components/schema`},
		"wrong component name":    {`"Part": {`, `"a part": {}, "Part": {`},
		"unknown type":            {`"type": "boolean"`, `"type": "bool"`},
		"unknown type within":     {`"m": { "type": "integer" }`, `"m": { "type": "int" }`},
		"wrong keyword":           {`"minLength": 1`, `"minLength": -1`},
		"wrong required":          {`"required": ["n"]`, `"required": ["n", "n"]`},
		"number for a schema":     {`"allOf": [`, `"allOf": [3,`},
		"keyword of a text":       {`"minLength": 1`, `"minLength": "1"`},
		"unknown scheme":          {`[{ "key": [] }]`, `[{ "other": [] }]`},
		"wrong scheme type":       {`"type": "http"`, `"type": "https"`},
		"no scheme":               {`"type": "http", "scheme": "bearer"`, `"type": "http"`},
		"two examples":            {`"example": true`, `"example": true, "examples": { "b": { "value": true } }`},
		"wrong pattern":           {`"minLength": 1`, `"pattern": "("`},
		"body required":           {`"requestBody": { "required": true,`, `"requestBody": { "required": "yes",`},
		"no content":              {`"required": true, "content": {`, `"required": true, "x-content": {`},
	} {
		t.Run(name, func(t *testing.T) { require.Error(t, valid(changed(t, things, change[0], change[1]))) })
	}
}

func TestExamples(t *testing.T) {
	seen, err := openapi.Examples([]byte(things))
	require.NoError(t, err)
	require.Equal(t, 12, seen)
	for name, change := range map[string][2]string{
		"no parameter":    {`"example": true }`, `"description": "b" }`},
		"no body":         {`, "example": { "name": "a" } },`, `},`},
		"no answer":       {`"short": { "value": { "name": "a" } }`, ``},
		"no header":       {`"schema": { "type": "integer" }, "example": 1 }`, `"schema": { "type": "integer" } }`},
		"wrong parameter": {`"example": true }`, `"example": 1 }`},
		"wrong format":    {`"example": "2026-01-02T03:04:05Z"`, `"example": "2026"`},
		"wrong header":    {`"integer" }, "example": 1 }`, `"integer" }, "example": "a" }`},
		"wrong body":      {`"example": { "name": "a" } },`, `"example": { "name": 1 } },`},
		"extra field":     {`"example": { "name": "a" } },`, `"example": { "name": "a", "x": 1 } },`},
		"wrong form": {`"example": { "name": "a" }
			}`, `"example": { "count": 1 } }`},
		"wrong answer":         {`"value": { "name": "a" }`, `"value": { "name": "" }`},
		"null answer":          {`"value": { "name": "a" }`, `"value": null`},
		"wrong in a schema":    {`"kind": "b" }`, `"kind": "c" }`},
		"extra in a schema":    {`"kind": "b" }`, `"part": { "n": 1, "x": 1 } }`},
		"wrong in a property":  {`"minLength": 1`, `"minLength": 1, "examples": [""]`},
		"wrong in items":       {`"description": "Anything."`, `"items": { "type": "null", "examples": ["a"] }`},
		"wrong in another one": {`"required": ["n"],`, `"required": ["n"], "examples": [{}],`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openapi.Examples([]byte(changed(t, things, change[0], change[1])))
			require.Error(t, err)
		})
	}
}
