package reference

import (
	"net/url"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// call is what is needed to write a request as a command.
type call struct {
	method    string
	server    string // base address, "" if the document names none
	path      string // as in the document, with {names}
	params    []param
	scheme    *scheme // nil: no credentials are needed
	mediaType string  // of the body, "" for none
	body      strictjson.Value
}

type param struct {
	name, in string
	required bool
	example  strictjson.Value
}

// curl writes the request as a command for a POSIX shell. Of the parameters it gives those that are required. What it cannot know
// is read from the environment: the credentials, and the base address if the document has none.
func (c *call) curl() string {
	path, query := c.path, url.Values{}
	var headers []string
	for _, p := range c.params {
		value := plain(p.example)
		if p.example.Kind() == strictjson.Invalid {
			value = strings.ToUpper(p.name)
		}
		switch {
		case p.in == "path":
			path = strings.ReplaceAll(path, "{"+p.name+"}", url.PathEscape(value))
		case !p.required:
		case p.in == "query":
			query.Set(p.name, value)
		case p.in == "header":
			headers = append(headers, quote(p.name+": "+value))
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	address := quote(strings.TrimSuffix(c.server, "/") + path)
	if !isAbsolute(c.server) {
		address = `"$MORTISE_URL"` + address
	}
	parts := []string{"curl -X " + quote(c.method) + " " + address}
	if c.scheme != nil && c.scheme.credentials != "" {
		parts = append(parts, c.scheme.credentials)
	}
	for _, h := range headers {
		parts = append(parts, "-H "+h)
	}
	if c.mediaType != "" {
		parts = append(parts, "-H "+quote("Content-Type: "+c.mediaType))
		parts = append(parts, c.data()...)
	}
	return strings.Join(parts, " \\\n  ")
}

// isAbsolute reports whether a base address can be called as it stands.
func isAbsolute(server string) bool { return strings.Contains(server, "://") }

// data writes the body's part of the command.
func (c *call) data() []string {
	form := c.mediaType == "application/x-www-form-urlencoded"
	switch kind := c.body.Kind(); {
	case kind == strictjson.Invalid:
		return []string{"--data-binary @body"}
	case form && kind == strictjson.Object:
		var fields []string
		for key, value := range c.body.Members() {
			fields = append(fields, "--data-urlencode "+quote(key.Text()+"="+plain(value)))
		}
		return fields
	case kind == strictjson.String && !isJSON(c.mediaType):
		return []string{"--data-raw " + quote(c.body.Text())}
	}
	return []string{"--data-raw " + quote(pretty(c.body))}
}

// isJSON reports whether a media type is JSON.
func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// quote writes a word for a POSIX shell.
func quote(word string) string {
	safe := word != ""
	for i := range len(word) {
		c := word[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			safe = false
		}
	}
	if safe {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
