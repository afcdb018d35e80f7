package httpadapter

import (
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// credentialNamer puts a host's name of its credential into a service's OpenAPI document.
// The components that say it get names of their own: another service of the document may
// have another credential.
type credentialNamer struct {
	suffix    string // of the names of components
	challenge *strings.Replacer
	scheme    string            // what the security scheme says
	refusal   *strings.Replacer // of what is said elsewhere
}

func newCredentialNamer(credential string) *credentialNamer {
	return &credentialNamer{
		suffix: "_" + componentName(credential),
		challenge: strings.NewReplacer(
			challengeOf("", true), challengeOf(credential, true),
			challengeOf("", false), challengeOf(credential, false),
		),
		scheme: "The " + credential + ". Send it with every request, in the header `Authorization: Bearer <CREDENTIAL>`. " +
			"One that is missing, invalid, expired or revoked is answered with status 401.",
		refusal: strings.NewReplacer(
			refusalOf("API key"), refusalOf(credential),
			refusalOf("access token"), refusalOf(credential),
		),
	}
}

// Kinds of components, and the header of a 401.
const (
	kindResponses = "responses"
	kindHeaders   = "headers"
	kindSchemes   = "securitySchemes"

	challengeHeaderName = "WWW-Authenticate"
)

// isBearer reports whether a security scheme of a file is that of the host's callers.
func isBearer(scheme string) bool { return scheme == "bearerAuth" || scheme == "accessToken" }

// component is the name of a component that has another one in the service's file.
func (n *credentialNamer) component(kind, name string) string {
	switch {
	case kind == kindSchemes && isBearer(name):
		return "bearer" + n.suffix
	case kind == kindHeaders && name == challengeHeaderName,
		kind == kindResponses && slices.Contains([]string{"Unauthorized", "DetailUnauthorized", "VaultUnauthorized"}, name):
		return name + n.suffix
	}
	return name
}

// key is a key of the object that the keys at lead to, one after the other. "" stands for
// an item of a list.
func (n *credentialNamer) key(at []string, key string) string {
	switch {
	case len(at) == 2 && at[0] == "components":
		return n.component(at[1], key)
	case len(at) > 1 && at[len(at)-2] == "security":
		return n.component(kindSchemes, key)
	}
	return key
}

// text is a text that the keys at lead to.
func (n *credentialNamer) text(at []string, text string) string {
	if ref, ok := strings.CutPrefix(text, "#/components/"); ok && at[len(at)-1] == "$ref" {
		kind, name, _ := strings.Cut(ref, "/")
		return "#/components/" + kind + "/" + n.component(kind, name)
	}
	if len(at) > 3 && at[0] == "components" {
		switch {
		case at[1] == kindHeaders && at[2] == challengeHeaderName:
			return n.challenge.Replace(text)
		case at[1] == kindSchemes && isBearer(at[2]) && at[3] == "description":
			return n.scheme
		}
	}
	return n.refusal.Replace(text)
}

// append appends a value of the file, compact, that the keys at lead to.
func (n *credentialNamer) append(b []byte, v strictjson.Value, at ...string) []byte {
	separate := func(i int) {
		if i > 0 {
			b = append(b, ',')
		}
	}
	switch v.Kind() {
	case strictjson.Object:
		b = append(b, '{')
		i := 0
		for key, member := range v.Members() {
			separate(i)
			i++
			b = append(append(b, mustJSON(n.key(at, key.Text()))...), ':')
			b = n.append(b, member, append(slices.Clip(at), key.Text())...)
		}
		return append(b, '}')
	case strictjson.Array:
		b = append(b, '[')
		for i, item := range v.Elements() {
			separate(i)
			b = n.append(b, item, append(slices.Clip(at), "")...)
		}
		return append(b, ']')
	case strictjson.String:
		if text := n.text(at, v.Text()); text != v.Text() {
			return append(b, mustJSON(text)...)
		}
	}
	return append(b, v.Raw()...)
}

// componentName is what a component of an OpenAPI document can be called after a
// credential.
func componentName(credential string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '_'
	}, credential)
}
