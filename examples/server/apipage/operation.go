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

// scheme is a way to authenticate.
type scheme struct {
	Name string
	*node
}

// Schemes are the ways to authenticate.
func (o *operation) Schemes() (list []scheme) {
	for name, s := range o.root.At("components", "securitySchemes").Each() {
		for _, alternative := range o.At("security").Each() {
			if alternative.At(name) != nil {
				list = append(list, scheme{name, s})
			}
		}
	}
	return list
}

// Command writes the request for a POSIX shell, with the parameters that are required and
// the first example of the body. Credentials are read from the environment.
func (o *operation) Command() string {
	path, query := o.Path, url.Values{}
	var options []string
	if s := o.Schemes(); s != nil && s[0].At("scheme").String() == "basic" {
		options = append(options, `-u "$MORTISE_USER:$MORTISE_PASSWORD"`)
	} else if s != nil {
		options = append(options, `-H "Authorization: Bearer $MORTISE_KEY"`)
	}
	for _, p := range o.At("parameters").Rows() {
		value := cmp.Or(p.At("example").String(), strings.ToUpper(p.Last))
		switch in := p.At("in").String(); {
		case in == "path":
			path = strings.ReplaceAll(path, "{"+p.Last+"}", url.PathEscape(value))
		case p.Required && in == "query":
			query.Set(p.Last, value)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if b := o.At("requestBody").Body(); b != nil {
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

// body is that of a request or a response, in its first media type.
type body struct {
	MediaType, Others string
	Schema            *node
	Examples          []example
}

type example struct {
	Title string
	value *node
}

// Text is the example for people, and for a command.
func (e example) Text() string {
	if strings.HasPrefix(e.value.json, `"`) { // the body is no JSON then
		return e.value.text
	}
	return e.value.pretty(0, 0)
}

// Body is that of a request or a response, nil for none.
func (n *node) Body() *body {
	content := n.At("content")
	if content == nil || content.list == nil {
		return nil
	}
	form := content.list[0]
	b := &body{MediaType: content.keys[0], Others: strings.Join(content.keys[1:], ", "), Schema: form.At("schema")}
	for name, e := range form.At("examples").Each() {
		b.Examples = append(b.Examples, example{cmp.Or(e.At("summary").String(), name), e.At("value")})
	}
	if e := form.At("example"); e != nil {
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
	for name, value := range example.value.Each() {
		options = append(options, "--data-urlencode "+quote(name+"="+value.text))
	}
	return options
}
