package httpadapter

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// openapiFiles holds one hand-kept document per service, named as the service. A file
// describes all that its service can be mounted with; every operation names its own
// security.
//
//go:embed openapi/*.json
var openapiFiles embed.FS

// onlyWith is the key of an object, in one of the files, that belongs in the document
// only if a handler has the feature named.
const onlyWith = "x-only-with"

// What the files ask for.
const (
	featureCollectionField = "collectionField" // TriggerOptions.CollectionField
	featureHistory         = "history"         // TriggerOptions.History
	featureNotBefore       = "notBefore"       // TriggerOptions.NotBefore
	featureMinScore        = "minScore"        // AudioSearchOptions.MinScore
)

// schemaSoundClass is the schema of audio_class.
const schemaSoundClass = "SoundClass"

// OpenAPI returns one OpenAPI 3.1 document, as indented JSON, of the operations that the
// handlers have mounted and what these need, in the order of [Handler.Routes]. It is made
// to be called once, at the start. It asks the scorers of a search for sounds that has no
// [AudioSearchOptions].Classes for theirs, for 2 s at most.
//
// The servers are the base addresses of the services, including the prefix they are
// mounted under: "https://api.example.com/internal". Give several for several
// installations, as production and sandbox. Without any, paths are relative to where the
// document is served. The document describes authentication by bearer token; a host that
// takes none has to say so in it.
//
// Two handlers of the same service are described as one. Handlers of several services
// must not share an operation, and components of the same name must be the same.
func OpenAPI(servers []string, handlers ...*Handler) ([]byte, error) {
	if len(handlers) == 0 {
		return nil, errors.New("httpadapter: OpenAPI needs a handler")
	}
	addresses, err := serverList(servers)
	if err != nil {
		return nil, err
	}
	var services []*describedService
	for _, h := range handlers {
		if h == nil {
			return nil, errors.New("httpadapter: OpenAPI was given a nil handler")
		}
		i := slices.IndexFunc(services, func(s *describedService) bool { return s.name == h.name })
		if i < 0 {
			i = len(services)
			services = append(services, &describedService{name: h.name, features: make(map[string]bool)})
		}
		services[i].include(h)
	}
	doc := new(openapiDocument)
	for _, s := range services {
		file, err := openapiFiles.ReadFile("openapi/" + s.name + ".json")
		if err == nil {
			err = doc.add(s, file)
		}
		if err != nil {
			return nil, fmt.Errorf("httpadapter: describe service %q: %w", s.name, err)
		}
	}
	return doc.encode(addresses)
}

// serverList checks the base addresses and encodes them as the document's servers, nil
// for none.
func serverList(servers []string) (json.RawMessage, error) {
	type server struct {
		URL string `json:"url"`
	}
	var list []server
	for _, text := range servers {
		address, err := serverAddress(text)
		if err != nil {
			return nil, err
		}
		list = append(list, server{address})
	}
	if list == nil {
		return nil, nil
	}
	return jsonBody(list)
}

// serverAddress checks a base address, and returns it as paths are appended to it.
func serverAddress(text string) (string, error) {
	u, err := url.Parse(text)
	absolute := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	relative := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(text, "/")
	if !absolute && !relative || u.User != nil || strings.ContainsAny(text, "?#") {
		return "", errors.New("httpadapter: a server must be an http or https address, or a path from the root, without user, query and fragment")
	}
	if len(text) > 1 {
		text = strings.TrimRight(text, "/") // paths begin with one
	}
	return text, nil
}

// describedService is what the handlers of one service have mounted, taken together.
type describedService struct {
	name     string
	features map[string]bool
	ops      []Operation
	servers  json.RawMessage // of its paths, nil if they are the document's
	enums    map[string][]string
}

func (s *describedService) include(h *Handler) {
	for _, r := range h.routes {
		if !slices.Contains(s.ops, r.Operation) {
			s.ops = append(s.ops, r.Operation)
		}
	}
	if s.servers == nil {
		s.servers = h.servers
	}
	for _, feature := range h.features {
		s.features[feature] = true
	}
	if h.enums == nil {
		return
	}
	for schema, values := range h.enums() {
		if s.enums[schema] == nil {
			s.enums = map[string][]string{schema: slices.Clone(values)}
			continue
		}
		for _, v := range values {
			if !slices.Contains(s.enums[schema], v) {
				s.enums[schema] = append(s.enums[schema], v)
			}
		}
	}
}
