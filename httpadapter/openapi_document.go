package httpadapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// jsonMember and jsonObject keep the order of a file's members, which is the order of a
// reader's page.
type jsonMember struct {
	key   string
	value json.RawMessage
}

type jsonObject []jsonMember

func (o jsonObject) find(key string) int {
	return slices.IndexFunc(o, func(m jsonMember) bool { return m.key == key })
}

// merge adds a member, or returns an error if there is another one of that name. Values
// are compact, so that bytes can be compared.
func (o *jsonObject) merge(what, key string, value []byte) error {
	if i := o.find(key); i < 0 {
		*o = append(*o, jsonMember{key, value})
	} else if !bytes.Equal((*o)[i].value, value) {
		return fmt.Errorf("%s %q stands in another service's document and differs there", what, key)
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (o jsonObject) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := jsonBody(m.key)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, key...), ':'), m.value...)
	}
	return append(b, '}'), nil
}

// openapiDocument is a document that is being put together.
type openapiDocument struct {
	infos      []strictjson.Value
	tags       jsonObject
	paths      []openapiPath
	components []openapiComponents
}

type openapiPath struct {
	pattern string
	members jsonObject // its servers, if they are not the document's, and its methods
}

type openapiComponents struct {
	kind    string // "schemas", "responses", ...
	members jsonObject
}

// add takes over, from the service's file, what it has mounted.
func (doc *openapiDocument) add(s *describedService, file []byte) error {
	root, err := strictjson.Parse(file, 0)
	if err != nil {
		return err
	}
	if root, err = strictjson.Parse(prune(nil, root, s.features), 0); err != nil {
		return err
	}
	info, _ := root.Get("info")
	doc.infos = append(doc.infos, info)

	used := make(map[string]bool)
	for _, op := range s.ops {
		described := at(root, "paths", op.Pattern, strings.ToLower(op.Method))
		if !at(described, "operationId").Equal(op.ID) {
			return fmt.Errorf("%s %s is not described as %q", op.Method, op.Pattern, op.ID)
		}
		if err := doc.addOperation(op, described, s.servers); err != nil {
			return err
		}
		if err := collectUsed(root, described, used); err != nil {
			return err
		}
		for _, tag := range at(described, "tags").Elements() {
			used["tag "+tag.Text()] = true
		}
		for _, requirement := range at(described, "security").Elements() {
			for scheme := range requirement.Members() {
				used["#/components/securitySchemes/"+scheme.Text()] = true
			}
		}
	}
	for _, tag := range at(root, "tags").Elements() {
		if name := at(tag, "name").Text(); used["tag "+name] {
			if err := doc.tags.merge("the tag", name, tag.Raw()); err != nil {
				return err
			}
		}
	}
	return doc.addComponents(root, used, s.enums)
}

func (doc *openapiDocument) addOperation(op Operation, described strictjson.Value, servers json.RawMessage) error {
	i := slices.IndexFunc(doc.paths, func(p openapiPath) bool { return p.pattern == op.Pattern })
	if i < 0 {
		i = len(doc.paths)
		doc.paths = append(doc.paths, openapiPath{pattern: op.Pattern})
		if servers != nil {
			doc.paths[i].members = jsonObject{{"servers", servers}}
		}
	}
	members, method := &doc.paths[i].members, strings.ToLower(op.Method)
	if members.find(method) >= 0 {
		return fmt.Errorf("%s %s is answered by another service", op.Method, op.Pattern)
	}
	*members = append(*members, jsonMember{method, described.Raw()})
	return nil
}

// addComponents takes over the components in use, in the order of the file. Schemas that
// a host gave other values become enumerations of those.
func (doc *openapiDocument) addComponents(root strictjson.Value, used map[string]bool, enums map[string][]string) error {
	for kind, members := range at(root, "components").Members() {
		i := slices.IndexFunc(doc.components, func(c openapiComponents) bool { return kind.Equal(c.kind) })
		if i < 0 {
			i = len(doc.components)
			doc.components = append(doc.components, openapiComponents{kind: kind.Text()})
		}
		c := &doc.components[i]
		for name, member := range members.Members() {
			if !used["#/components/"+c.kind+"/"+name.Text()] {
				continue
			}
			raw := member.Raw()
			if values, ok := enums[name.Text()]; ok && c.kind == "schemas" {
				var err error
				if raw, err = jsonBody(map[string]any{"type": "string", "enum": values}); err != nil {
					return err
				}
			}
			if err := c.members.merge("the component "+c.kind, name.Text(), raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameMaps are the objects of a document whose keys are names that somebody chose.
var nameMaps = []string{"properties", "patternProperties", "$defs", "responses", "headers", "content", "examples"}

// plainData are the members of a document that hold data of any shape.
var plainData = []string{"example", "examples", "value", "default", "const", "enum"}

// collectUsed notes the references in v, and in all that it refers to.
func collectUsed(root, v strictjson.Value, used map[string]bool) error {
	for _, item := range v.Elements() {
		if err := collectUsed(root, item, used); err != nil {
			return err
		}
	}
	for key, value := range v.Members() {
		var err error
		switch {
		case key.Equal("$ref"):
			err = collectRef(root, value.Text(), used)
		case named(key, nameMaps) && value.Kind() == strictjson.Object:
			for _, member := range value.Members() {
				if err = collectUsed(root, member, used); err != nil {
					break
				}
			}
		case named(key, plainData):
		default:
			err = collectUsed(root, value, used)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func collectRef(root strictjson.Value, ref string, used map[string]bool) error {
	if used[ref] {
		return nil
	}
	kindAndName, ok := strings.CutPrefix(ref, "#/components/")
	kind, name, _ := strings.Cut(kindAndName, "/")
	target := at(root, "components", kind, name)
	if !ok || target.Kind() != strictjson.Object {
		return fmt.Errorf("the reference %q leads nowhere", ref)
	}
	used[ref] = true
	return collectUsed(root, target, used)
}

// encode writes the document.
func (doc *openapiDocument) encode(servers json.RawMessage) ([]byte, error) {
	info, err := mergeInfo(doc.infos)
	if err != nil {
		return nil, err
	}
	out := struct {
		OpenAPI    string            `json:"openapi"`
		Info       json.RawMessage   `json:"info"`
		Servers    json.RawMessage   `json:"servers,omitempty"`
		Tags       []json.RawMessage `json:"tags,omitempty"`
		Paths      json.RawMessage   `json:"paths"`
		Components json.RawMessage   `json:"components,omitempty"`
	}{OpenAPI: "3.1.0", Info: info, Servers: servers}
	for _, tag := range doc.tags {
		out.Tags = append(out.Tags, tag.value)
	}
	var paths, components jsonObject
	for _, p := range doc.paths {
		members, err := jsonBody(p.members)
		if err != nil {
			return nil, err
		}
		paths = append(paths, jsonMember{p.pattern, members})
	}
	for _, c := range doc.components {
		if len(c.members) == 0 {
			continue
		}
		members, err := jsonBody(c.members)
		if err != nil {
			return nil, err
		}
		components = append(components, jsonMember{c.kind, members})
	}
	if out.Paths, err = jsonBody(paths); err != nil {
		return nil, err
	}
	if components != nil {
		if out.Components, err = jsonBody(components); err != nil {
			return nil, err
		}
	}
	compact, err := jsonBody(out)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return nil, fmt.Errorf("httpadapter: indent the OpenAPI document: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// mergeInfo is the service's own info if there is one service. Several have the version
// and the introduction of the first one: these are the same in every file. The tags say
// what each service does.
func mergeInfo(infos []strictjson.Value) (json.RawMessage, error) {
	if len(infos) == 1 {
		return infos[0].Raw(), nil
	}
	return jsonBody(struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}{"Mortise", at(infos[0], "version").Text(), at(infos[0], "description").Text()})
}

// at follows keys from object to object. The result is the zero Value if one is missing.
func at(v strictjson.Value, keys ...string) strictjson.Value {
	for _, key := range keys {
		v, _ = v.Get(key)
	}
	return v
}

// prune appends v, compact, without the objects that ask for a feature that is not there,
// and without the asking.
func prune(b []byte, v strictjson.Value, features map[string]bool) []byte {
	absent := func(member strictjson.Value) bool {
		feature, asks := member.Get(onlyWith)
		return asks && !features[feature.Text()]
	}
	separate := func() {
		if last := b[len(b)-1]; last != '{' && last != '[' {
			b = append(b, ',')
		}
	}
	switch v.Kind() {
	case strictjson.Object:
		b = append(b, '{')
		for key, member := range v.Members() {
			if key.Equal(onlyWith) || absent(member) {
				continue
			}
			separate()
			b = append(append(b, key.Raw()...), ':')
			b = prune(b, member, features)
		}
		return append(b, '}')
	case strictjson.Array:
		b = append(b, '[')
		for _, item := range v.Elements() {
			if absent(item) {
				continue
			}
			separate()
			b = prune(b, item, features)
		}
		return append(b, ']')
	}
	return append(b, v.Raw()...)
}
