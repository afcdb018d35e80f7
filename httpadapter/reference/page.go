package reference

import (
	"html/template"
	"strconv"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// page is what the template shows.
type page struct {
	Title, Version, Summary string
	Intro                   template.HTML
	Servers                 []server
	NeedsURL                bool // commands read the base address from the environment
	Schemes                 []*scheme
	Groups                  []*group
	Style                   template.CSS
	Script                  template.JS
}

type server struct {
	URL         string
	Description template.HTML
}

// scheme is a way to authenticate.
type scheme struct {
	Anchor, Name, Kind string
	Description        template.HTML
	Variables          []string // of the environment, that the command reads
	credentials        string   // the option of the command, "" if it is not known
}

// group holds the operations of a tag.
type group struct {
	Anchor, Name string
	Description  template.HTML
	Operations   []*operation
}

type operation struct {
	Anchor, ID, Method, Path, Summary string
	Description                       template.HTML
	Deprecated                        bool
	Servers                           []server // of its path, if they are not the page's
	Schemes                           []*scheme
	Parameters                        []field
	Body                              *body
	Command                           string
	Responses                         []*response
}

// body is that of a request or a response, in one media type.
type body struct {
	MediaType, Others string // Others: further media types
	Description       template.HTML
	Required          bool
	Type, Name        string
	Rules             []string
	Fields            []field
	Closed            bool // other fields are refused
	Examples          []example
	first             strictjson.Value // the first example, for the command
}

type example struct{ Title, Text string }

type response struct {
	Status, Reason, Class string
	Description           template.HTML
	Headers               []field
	Body                  *body
}

// field is a row of a table. A row with a heading has nothing else.
type field struct {
	Heading     string
	Name        string // "detail[].loc"
	In          string // of a parameter: "path", "query", "header"
	Type        string
	Required    bool
	Deprecated  bool
	Rules       []template.HTML
	Enum        []string
	Example     string // of a parameter
	Description template.HTML
}

// manyValues is from how many values on an enum is folded.
const manyValues = 12

// Long reports whether the values are too many to be shown at once.
func (f field) Long() bool { return len(f.Enum) > manyValues }

// Parent is the part of the name that the rows before have shown, and Last the rest.
func (f field) Parent() string { return f.Name[:f.split()] }

// Last is what the row adds to its parent's name.
func (f field) Last() string { return f.Name[f.split():] }

func (f field) split() int {
	if f.In != "" {
		return 0
	}
	for i := len(f.Name) - 1; i > 0; i-- {
		if f.Name[i] == '.' {
			return i + 1
		}
	}
	return 0
}

// rawHTML marks text that inline has escaped.
func rawHTML(escaped string) template.HTML { return template.HTML(escaped) } //nolint:gosec // see above

func prefixOr(prefix, otherwise string) string {
	if prefix == "" {
		return otherwise
	}
	return prefix
}

func formHeading(prefix, title string, i, n int) string {
	heading := "Form " + strconv.Itoa(i+1) + " of " + strconv.Itoa(n) + " of " + prefixOr(prefix, "the body")
	if title != "" {
		heading += ": " + title
	}
	return heading
}
