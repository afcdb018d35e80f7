package reference

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// document reads an OpenAPI document into a page. The first thing that is wrong with it is kept in err; what is read after that
// does not matter.
type document struct {
	root    strictjson.Value
	err     error
	ids     anchors
	schemes map[string]*scheme
	targets map[string]strictjson.Value // of references, by pointer

	fieldsLeft int // bounds the page: schemas that refer to each other can unfold to any size
}

// maxFields is how many fields with others within them a page may have.
const maxFields = 20000

// methods are the keys of a path that are operations.
var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

func (d *document) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("reference: "+format, args...)
	}
}

// at follows keys from object to object. The result is the zero Value if one is missing.
func at(v strictjson.Value, keys ...string) strictjson.Value {
	for _, key := range keys {
		v, _ = v.Get(key)
	}
	return v
}

func has(v strictjson.Value, key string) bool {
	_, ok := v.Get(key)
	return ok
}

// resolve follows references within the document. The name is the last part of the last one, "" if v is no reference.
func (d *document) resolve(v strictjson.Value) (target strictjson.Value, name string) {
	const most = 100 // a chain longer than that is a circle
	for range most {
		ref, isRef := v.Get("$ref")
		if !isRef {
			return v, name
		}
		pointer, local := strings.CutPrefix(ref.Text(), "#/")
		pointer, err := url.PathUnescape(pointer)
		if !local || err != nil {
			d.fail("the reference %q is not one within the document", ref.Text())
			return strictjson.Value{}, name
		}
		v, name = d.target(pointer), unescape(pointer[strings.LastIndexByte(pointer, '/')+1:])
		if v.Kind() == strictjson.Invalid {
			d.fail("the reference %q leads nowhere", ref.Text())
			return v, name
		}
	}
	d.fail("the reference %q leads back to itself", at(v, "$ref").Text())
	return strictjson.Value{}, name
}

// target returns what is at a JSON pointer (RFC 6901) without its first slash. To find it means to read all that is before it, so it is done once.
func (d *document) target(pointer string) strictjson.Value {
	v, known := d.targets[pointer]
	if !known {
		v = d.root
		for part := range strings.SplitSeq(pointer, "/") {
			v, _ = v.Get(unescape(part))
		}
		d.targets[pointer] = v
	}
	return v
}

func unescape(part string) string {
	return strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
}

// page reads the whole document.
func (d *document) page() *page {
	version, info, paths := at(d.root, "openapi").Text(), at(d.root, "info"), at(d.root, "paths")
	switch {
	case version != "3.1" && !strings.HasPrefix(version, "3.1."):
		d.fail("the document is not OpenAPI 3.1: its member openapi is %q", version)
	case at(info, "title").Text() == "":
		d.fail("the document has no title: info.title must be a string")
	case paths.Kind() != strictjson.Object:
		d.fail("the document has no paths: the member must be an object")
	}
	p := &page{
		Title: at(info, "title").Text(), Version: at(info, "version").Text(),
		Summary: at(info, "summary").Text(), Intro: prose(at(info, "description").Text()),
	}
	p.Servers = servers(d.root)
	for name, v := range at(d.root, "components", "securitySchemes").Members() {
		s := d.scheme(name.Text(), v)
		d.schemes[s.Name] = s
		p.Schemes = append(p.Schemes, s)
	}
	for _, tag := range at(d.root, "tags").Elements() {
		name := at(tag, "name").Text()
		p.Groups = append(p.Groups, &group{Anchor: d.ids.make("tag", name), Name: name, Description: prose(at(tag, "description").Text())})
	}
	for path, item := range paths.Members() {
		own := servers(item)
		base := firstURL(own, p.Servers)
		for key, op := range item.Members() {
			if slices.Contains(methods, key.Text()) {
				p.NeedsURL = p.NeedsURL || !isAbsolute(base)
				o := d.operation(strings.ToUpper(key.Text()), path.Text(), base, item, op)
				o.Servers = own
				g := p.group(at(op, "tags"), d.ids)
				g.Operations = append(g.Operations, o)
			}
		}
	}
	p.Groups = slices.DeleteFunc(p.Groups, func(g *group) bool { return g.Operations == nil })
	return p
}

// servers reads those of the document or of a path.
func servers(v strictjson.Value) []server {
	var list []server
	for _, s := range at(v, "servers").Elements() {
		list = append(list, server{URL: serverURL(s), Description: prose(at(s, "description").Text())})
	}
	return list
}

// firstURL is the base address for commands, "" if there is none: that of the path counts before that of the document.
func firstURL(lists ...[]server) string {
	for _, list := range lists {
		if len(list) > 0 {
			return list[0].URL
		}
	}
	return ""
}

// serverURL is a base address with its variables set to their defaults.
func serverURL(s strictjson.Value) string {
	address := at(s, "url").Text()
	for name, variable := range at(s, "variables").Members() {
		address = strings.ReplaceAll(address, "{"+name.Text()+"}", at(variable, "default").Text())
	}
	return address
}

// group returns the group of an operation's first tag.
func (p *page) group(tags strictjson.Value, ids anchors) *group {
	name := "Operations"
	for _, tag := range tags.Elements() {
		name = tag.Text()
		break
	}
	for _, g := range p.Groups {
		if g.Name == name {
			return g
		}
	}
	g := &group{Anchor: ids.make("tag", name), Name: name}
	p.Groups = append(p.Groups, g)
	return g
}

func (d *document) scheme(name string, v strictjson.Value) *scheme {
	v, _ = d.resolve(v)
	s := &scheme{Anchor: d.ids.make("auth", name), Name: name, Description: prose(at(v, "description").Text())}
	switch kind, sub := at(v, "type").Text(), strings.ToLower(at(v, "scheme").Text()); {
	case kind == "http" && sub == "bearer":
		s.Kind, s.Variables = "HTTP bearer", []string{"MORTISE_KEY"}
		s.credentials = `-H "Authorization: Bearer $MORTISE_KEY"`
	case kind == "http" && sub == "basic":
		s.Kind, s.Variables = "HTTP basic", []string{"MORTISE_USER", "MORTISE_PASSWORD"}
		s.credentials = `-u "$MORTISE_USER:$MORTISE_PASSWORD"`
	case kind == "apiKey" && at(v, "in").Text() == "header":
		header := at(v, "name").Text()
		s.Kind, s.Variables = "Header "+header, []string{"MORTISE_KEY"}
		s.credentials = "-H " + quote(header+": ") + `"$MORTISE_KEY"`
	case kind == "":
		d.fail("the security scheme %q has no type", name)
	default:
		s.Kind = strings.TrimSpace(kind + " " + sub)
	}
	return s
}

func (d *document) operation(method, path, base string, item, v strictjson.Value) *operation {
	o := &operation{
		ID: at(v, "operationId").Text(), Method: method, Path: path, Summary: at(v, "summary").Text(),
		Description: prose(at(v, "description").Text()), Deprecated: at(v, "deprecated").Bool(),
	}
	where := method + " " + path
	if at(v, "responses").Kind() != strictjson.Object {
		d.fail("%s has no responses", where)
	}
	o.Anchor = d.ids.make("op", cmp.Or(o.ID, where))
	o.Summary = cmp.Or(o.Summary, o.ID, where)
	request := call{method: method, server: base, path: path}
	d.security(o, &request, v)
	d.parameters(o, &request, item, v)
	if body, _ := d.resolve(at(v, "requestBody")); body.Kind() == strictjson.Object {
		o.Body = d.body(where+", request body", at(body, "content"))
		if o.Body != nil {
			o.Body.Required = at(body, "required").Bool()
			o.Body.Description = prose(at(body, "description").Text())
			request.mediaType, request.body = o.Body.MediaType, o.Body.first
		}
	}
	o.Command = request.curl()
	for status, r := range at(v, "responses").Members() {
		o.Responses = append(o.Responses, d.response(where, status.Text(), r))
	}
	return o
}

// security notes the first way to authenticate, in words and for the command.
func (d *document) security(o *operation, request *call, v strictjson.Value) {
	requirements := at(v, "security")
	if requirements.Kind() == strictjson.Invalid {
		requirements = at(d.root, "security")
	}
	for _, alternative := range requirements.Elements() {
		for name := range alternative.Members() {
			s := d.schemes[name.Text()]
			if s == nil {
				d.fail("%s %s asks for the security scheme %q, which the document does not have", o.Method, o.Path, name.Text())
				return
			}
			if !slices.Contains(o.Schemes, s) {
				o.Schemes = append(o.Schemes, s)
			}
			if request.scheme == nil {
				request.scheme = s
			}
		}
	}
}

// parameters reads those of the operation, and those of its path that it does not replace.
func (d *document) parameters(o *operation, request *call, item, v strictjson.Value) {
	seen := make(map[string]bool)
	for _, list := range []strictjson.Value{at(v, "parameters"), at(item, "parameters")} {
		for _, p := range list.Elements() {
			p, _ = d.resolve(p)
			name, in := at(p, "name").Text(), at(p, "in").Text()
			if name == "" || in == "" {
				d.fail("%s %s has a parameter without name or place", o.Method, o.Path)
			}
			if seen[in+" "+name] {
				continue
			}
			seen[in+" "+name] = true
			f := d.field(name, at(p, "schema"), at(p, "required").Bool())
			if text := at(p, "description").Text(); text != "" {
				f.Description = prose(text)
			}
			f.In = in
			f.Deprecated = f.Deprecated || at(p, "deprecated").Bool()
			example := at(p, "example")
			if example.Kind() == strictjson.Invalid {
				for _, e := range d.examples("", p, at(p, "schema")) {
					example = e.value
					break
				}
			}
			if example.Kind() != strictjson.Invalid {
				f.Example = plain(example)
			}
			o.Parameters = append(o.Parameters, f)
			request.params = append(request.params, param{name: name, in: in, required: f.Required, example: example})
		}
	}
}

func (d *document) response(where, status string, v strictjson.Value) *response {
	v, _ = d.resolve(v)
	r := &response{Status: status, Description: prose(at(v, "description").Text())}
	if code, err := strconv.Atoi(status); err == nil {
		r.Reason = http.StatusText(code)
	}
	if status != "" {
		r.Class = "s" + string(status[0])
	}
	if !has(v, "description") {
		d.fail("%s, response %s has no description", where, status)
	}
	for name, h := range at(v, "headers").Members() {
		h, _ = d.resolve(h)
		f := d.field(name.Text(), at(h, "schema"), at(h, "required").Bool())
		if text := at(h, "description").Text(); text != "" {
			f.Description = prose(text)
		}
		r.Headers = append(r.Headers, f)
	}
	r.Body = d.body(where+", response "+status, at(v, "content"))
	return r
}
