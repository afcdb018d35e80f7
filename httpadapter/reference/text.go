package reference

import (
	"html"
	"html/template"
	"strings"
)

// prose turns a description into HTML: paragraphs, lists of lines that begin with "- ", and `code`. That is the part of CommonMark
// that the descriptions use. All else is text, so that nothing in a description becomes markup.
func prose(text string) template.HTML {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		block = strings.TrimSpace(block)
		switch {
		case block == "":
		case strings.HasPrefix(block, "- "):
			b.WriteString("<ul>")
			for item := range strings.SplitSeq("\n"+block, "\n- ") {
				if item != "" {
					b.WriteString("<li>" + inline(item) + "</li>")
				}
			}
			b.WriteString("</ul>")
		default:
			b.WriteString("<p>" + inline(block) + "</p>")
		}
	}
	return template.HTML(b.String()) //nolint:gosec // every part of the text went through inline
}

// inline escapes text and marks what stands between backquotes. A backquote without a partner stays as it is.
func inline(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "`")
		code, after, closed := strings.Cut(rest, "`")
		if !found || !closed || code == "" {
			b.WriteString(html.EscapeString(text))
			return b.String()
		}
		b.WriteString(html.EscapeString(before) + "<code>" + html.EscapeString(code) + "</code>")
		text = after
	}
}

// anchors gives out ids, each once.
type anchors map[string]bool

// make returns an id of letters, digits and hyphens made from a name.
func (a anchors) make(kind, name string) string {
	id := []byte(kind + "-")
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			id = append(id, c)
		case id[len(id)-1] != '-':
			id = append(id, '-')
		}
	}
	unique := strings.TrimSuffix(string(id), "-")
	for a[unique] {
		unique += "-x"
	}
	a[unique] = true
	return unique
}
