package apipage

import (
	"cmp"
	"net/url"
	"strings"
)

// operation is a method of a path.
type operation struct {
	*node
	Method, Path string
	Servers      []server // of its path, if it has its own
}

// Schemes are the ways to authenticate.
func (o *operation) Schemes() (list []scheme) {
	for _, s := range schemes(o.root) {
		for _, alternative := range o.At("security").each() {
			if alternative.own(s.Name) != nil {
				list = append(list, s)
			}
		}
	}
	return list
}

// Parameters are rows of a table.
func (o *operation) Parameters() (list []field) {
	for _, p := range o.At("parameters").each() {
		f := headOf(p.At("name").String(), p)
		f.Example = p.At("example").String()
		list = append(list, f)
	}
	return list
}

// Body is that of a request, nil for none.
func (o *operation) Body() *body { return bodyOf(o.own("requestBody")) }

// Responses are in the order of the document.
func (o *operation) Responses() (list []response) {
	all := o.At("responses")
	for i, r := range all.each() {
		list = append(list, response{r, all.keys[i], bodyOf(r)})
	}
	return list
}

// Command writes the request for a POSIX shell, with the parameters that are required and
// the first example of the body. Credentials are read from the environment.
func (o *operation) Command() string {
	path, query := o.Path, url.Values{}
	var options []string
	if s := o.Schemes(); s != nil {
		options = append(options, s[0].option)
	}
	for _, p := range o.Parameters() {
		value := cmp.Or(p.Example, strings.ToUpper(p.Last))
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Last+"}", url.PathEscape(value))
		case p.Required && p.In == "query":
			query.Set(p.Last, value)
		case p.Required:
			options = append(options, "-H "+quote(p.Last+": "+value))
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if b := o.Body(); b != nil {
		options = append(options, "-H "+quote("Content-Type: "+b.MediaType))
		options = append(options, b.data()...)
	}
	base := append(o.Servers, servers(o.root)...)[0].URL
	first := "curl -X " + quote(o.Method) + " " + quote(strings.TrimSuffix(base, "/")+path)
	return strings.Join(append([]string{first}, options...), " \\\n  ")
}

// quote writes a word for a POSIX shell.
func quote(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// response is what a status means.
type response struct {
	*node
	Status string
	Body   *body
}

// Class is the class of the status in the style.
func (r response) Class() string { return "s" + r.Status[:1] }

// Headers are rows of a table.
func (r response) Headers() (list []field) {
	all := r.At("headers")
	for i, h := range all.each() {
		list = append(list, headOf(all.keys[i], h))
	}
	return list
}

// body is that of a request or a response, in its first media type.
type body struct {
	MediaType, Others string
	Type, Name        string
	Rules             []string
	Fields            []field
	Examples          []example
}

type example struct {
	Title string
	value *node
}

// Text is the example for people, and for a command.
func (e example) Text() string {
	if e.value.isString { // and so not JSON
		return e.value.text
	}
	return e.value.pretty(0, 0)
}

func bodyOf(v *node) *body {
	content := v.At("content")
	if content.each() == nil {
		return nil
	}
	form := content.list[0]
	schema := form.own("schema")
	b := &body{
		MediaType: content.keys[0], Others: strings.Join(content.keys[1:], ", "), Type: typeOf(schema), Name: nameOf(schema),
		Rules: rulesOf(schema), Fields: fieldsOf("", schema),
	}
	named := form.At("examples")
	for i, e := range named.each() {
		b.Examples = append(b.Examples, example{cmp.Or(e.At("summary").String(), named.keys[i]), e.own("value")})
	}
	if e := form.own("example"); e != nil {
		b.Examples = append(b.Examples, example{"", e})
	}
	return b
}

// data is the first example as options of curl.
func (b *body) data() (options []string) {
	if b.Examples == nil {
		return nil
	}
	example := b.Examples[0]
	if b.MediaType != "application/x-www-form-urlencoded" {
		return []string{"--data-raw " + quote(example.Text())}
	}
	for i, value := range example.value.each() {
		options = append(options, "--data-urlencode "+quote(example.value.keys[i]+"="+value.text))
	}
	return options
}
