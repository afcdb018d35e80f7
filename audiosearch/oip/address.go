package oip

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// address is where a model is.
type address struct {
	server  string // such as http://HOST:8000/v2
	model   string // such as http://HOST:8000/v2/models/ast
	version string // as the address names it; "": it names none
	name    string // of the model, for messages
}

// errAddress does not show the address, which may hold a password.
var errAddress = errors.New("oip: the model's address must be http://HOST:PORT/v2/models/NAME, " +
	"or that with /versions/VERSION behind it; https will do, and so will a path before /v2")

// parseAddress takes an address of a model to pieces.
func parseAddress(modelURL string) (address, error) {
	u, err := url.Parse(modelURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return address{}, errAddress
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return address{}, errors.New("oip: the model's address must have no user, password or query: " +
			"put credentials into Options.Header")
	}
	const models = "/v2/models/"
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	i := strings.LastIndex(path, models)
	if i < 0 {
		return address{}, errAddress
	}
	base := u.Scheme + "://" + u.Host + path[:i] + "/v2"
	name, version, versioned := strings.Cut(path[i+len(models):], "/")
	if versioned {
		var ok bool
		if version, ok = strings.CutPrefix(version, "versions/"); !ok || version == "" || strings.Contains(version, "/") {
			return address{}, errAddress
		}
	}
	a := address{server: base, model: base + "/models/" + name}
	if a.name, err = url.PathUnescape(name); err != nil || a.name == "" || a.name == "." || a.name == ".." {
		return address{}, errAddress
	}
	if a.version, err = url.PathUnescape(version); err != nil || a.version == "." || a.version == ".." {
		return address{}, errAddress
	}
	return a, nil
}

// at returns the address of a version; "" is the server's choice.
func (a *address) at(version string) string {
	if version == "" {
		return a.model
	}
	return a.model + "/versions/" + url.PathEscape(version)
}

// ours are the headers that no Options.Header may have.
var ours = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Connection": true, "Content-Encoding": true, "Content-Length": true,
	"Content-Type": true, headerLength: true, "Transfer-Encoding": true,
}

// takeHeader checks and keeps Options.Header.
func (s *Scorer) takeHeader(header http.Header) error {
	s.header = http.Header{}
	for key, values := range header {
		name := http.CanonicalHeaderKey(key)
		switch {
		case !isToken(key):
			return errors.New("oip: Options.Header has a name that is no name of a header")
		case ours[name]:
			return fmt.Errorf("oip: Options.Header has %s, which belongs to the protocol: leave it out", name)
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("oip: the value of Options.Header's %s has a line break or another control character", name)
			}
			if name == "Host" {
				s.host = v
				continue
			}
			s.header.Add(name, v)
			s.secrets = append(s.secrets, secretsOf(v)...)
		}
	}
	return nil
}

// isToken reports whether a text can be the name of a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// shortSecret is how long a word of a header is at least, in bytes, to be hidden in what
// a server says: "Bearer" and the like are no secrets.
const shortSecret = 7

// secretsOf returns what of the value of a header may be in no message.
func secretsOf(value string) []string {
	secrets := []string{value}
	for _, word := range strings.Fields(value) {
		secrets = append(secrets, word)
		if plain, err := base64.StdEncoding.DecodeString(word); err == nil { // Basic
			secrets = append(secrets, string(plain))
			if _, password, ok := strings.Cut(string(plain), ":"); ok {
				secrets = append(secrets, password)
			}
		}
	}
	var long []string
	for _, secret := range secrets {
		if len(secret) >= shortSecret {
			long = append(long, secret)
		}
	}
	return long
}
