package gold

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// masks give what differs from run to run a name.
type masks struct {
	literal string // what stands here is no such value
	names   map[string]string
	values  map[string]string
	longest []string // the values, in the order in which they are replaced
	count   map[string]int
	given   map[string]bool // names that the script has for values
	styled  map[string]bool // style sheets that were shown
	missing []string        // names that were given to nothing
	timed   bool            // times are of the real clock
}

var givenNames = regexp.MustCompile(`(?m)^= (.*)$`)

func newMasks(script string) *masks {
	m := &masks{
		literal: script, names: make(map[string]string), values: make(map[string]string), count: make(map[string]int),
		given: make(map[string]bool), styled: make(map[string]bool),
	}
	for _, line := range givenNames.FindAllStringSubmatch(script, -1) {
		for _, name := range strings.Fields(line[1]) {
			m.given[name] = true
		}
	}
	return m
}

// changing finds values that differ from run to run, and gives their masks. The first row
// that matches a value counts.
var changing = []struct {
	kind    string
	pattern *regexp.Regexp
}{
	{"secret", regexp.MustCompile(`\b(cs-[0-9a-f]{64})\b`)},
	{"token", regexp.MustCompile(`\b(at-[0-9a-f]{64})\b`)},
	{"link", regexp.MustCompile(`/accept-invitation/([\w.~-]{20,})`)},
	{"cursor", regexp.MustCompile(`"next_cursor":"([^"]+)"`)},
	{"run", regexp.MustCompile(`"run_id":(\d{9,})`)},
	{"value", regexp.MustCompile(`"token":"([^"]+)"`)},
	{"id", regexp.MustCompile(`\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`)},
	{"version", regexp.MustCompile(`<dt>Version</dt><dd>([^<]+)</dd>`)},
	{"tag", regexp.MustCompile(`^Etag: "([\w-]{22})"$`)}, // of a body with an ID
}

// tokensOfRecord are the tokens of an insertion, by column.
var tokensOfRecord = regexp.MustCompile(`"tokens":\{([^}]*)\}`)
var tokenOfRecord = regexp.MustCompile(`:"([^"]+)"`)

// learn finds new values in an answer. The first ones get the names given, in the order
// of the rows of changing.
func (m *masks) learn(text string, names []string) {
	type found struct{ kind, value string }
	var all []found
	add := func(kind, value string) {
		if m.values[value] == "" && !strings.Contains(m.literal, value) &&
			!slices.ContainsFunc(all, func(f found) bool { return f.value == value }) {
			all = append(all, found{kind, value})
		}
	}
	for _, record := range tokensOfRecord.FindAllStringSubmatch(text, -1) {
		for _, found := range tokenOfRecord.FindAllStringSubmatch(record[1], -1) {
			add("value", found[1])
		}
	}
	for _, row := range changing {
		for _, found := range row.pattern.FindAllStringSubmatch(text, -1) {
			add(row.kind, found[1])
		}
	}
	for n, f := range all {
		name := ""
		if n < len(names) {
			name = names[n]
		} else {
			for name == "" || m.given[name] {
				m.count[f.kind]++
				name = f.kind + strconv.Itoa(m.count[f.kind])
			}
		}
		m.names[name] = f.value
		if f.kind == "value" {
			name += " " + shape(f.value)
		}
		m.values[f.value] = "<" + name + ">"
		m.longest = append(m.longest, f.value)
	}
	slices.SortStableFunc(m.longest, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	m.missing = append(m.missing, names[min(len(all), len(names)):]...)
}

// shapes say what a token of a vault looks like.
var tokenShapes = []struct {
	pattern *regexp.Regexp
	shape   string
}{
	{regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), "UUID"},
	{regexp.MustCompile(`^[a-z2-7]+(@.*)$`), "*$1"},
	{regexp.MustCompile(`^(\w+_)[a-z2-7]{26}$`), "$1*26"},
}

func shape(token string) string {
	for _, s := range tokenShapes {
		if s.pattern.MatchString(token) {
			return s.pattern.ReplaceAllString(token, s.shape)
		}
	}
	if digits := strings.Trim(token, "0123456789"); digits == "" {
		return strconv.Itoa(len(token)) + " digits"
	}
	return "?"
}

// hide puts the names in the place of values.
func (m *masks) hide(text string) string {
	for _, value := range m.longest {
		text = strings.ReplaceAll(text, value, m.values[value])
	}
	return text
}

var nameOf = regexp.MustCompile(`<([\w-]+)>`)

// show puts values in the place of names.
func (m *masks) show(text string) string {
	return nameOf.ReplaceAllStringFunc(text, func(s string) string {
		if value, ok := m.names[s[1:len(s)-1]]; ok {
			return value
		}
		return s
	})
}

// ordinary are header values of every answer, which are not shown.
var (
	newUUID  = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	httpDate = regexp.MustCompile(`^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$`)
	longWait = regexp.MustCompile(`^\d{2,}$`)
)

// lines returns the lines of an answer.
func (m *masks) lines(resp *http.Response, body []byte, request http.Header, names []string) string {
	length := resp.Header.Get("Content-Length")
	ordinary := map[string]bool{
		"Date":           httpDate.MatchString(resp.Header.Get("Date")),
		"Content-Length": length == strconv.Itoa(len(body)) || resp.Request.Method == http.MethodHead,
		"Content-Type":   true, // beside the status
		"X-Request-Id":   newUUID.MatchString(resp.Header.Get("X-Request-Id")) && request["X-Request-Id"] == nil,
		"Connection":     true, // as below

		"Cache-Control":          resp.Header.Get("Cache-Control") == "no-store",
		"X-Content-Type-Options": resp.Header.Get("X-Content-Type-Options") == "nosniff",
	}
	first := strconv.Itoa(resp.StatusCode) + " " + strings.Join(resp.Header["Content-Type"], ", ")
	list := []string{strings.TrimSpace(first)}
	for name, ok := range ordinary {
		if !ok && resp.Header[name] == nil {
			list = append(list, name+": (none)")
		}
	}
	if resp.Close {
		list = append(list, "Connection: close")
	}
	for _, coding := range resp.TransferEncoding {
		list = append(list, "Transfer-Encoding: "+coding)
	}
	for name, values := range resp.Header {
		for _, value := range values {
			if name == "Retry-After" && longWait.MatchString(value) && value != "10" {
				value = "(more than 10)" // by the real clock
			}
			if name == "X-Request-Id" && newUUID.MatchString(value) {
				value = "(a new UUID)"
			}
			if !ordinary[name] {
				list = append(list, name+": "+value)
			}
		}
	}
	slices.Sort(list[1:])
	if tag := resp.Header.Get("Etag"); tag != "" {
		m.learn("Etag: "+tag, nil)
	}
	if len(body) > 0 {
		text := string(body)
		m.learn(text, names)
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
			if m.timed {
				text = instant.ReplaceAllString(text, "<time>")
			}
			text = fold(m.hide(text), 0) // in this order: the length of a value is not always the same
		} else if m.timed {
			text = instantInPage.ReplaceAllString(text, "<time>(now)</time>")
		}
		text = style.ReplaceAllStringFunc(text, func(sheet string) string {
			if m.styled[sheet] {
				return "<style>(as before)</style>"
			}
			m.styled[sheet] = true
			return sheet
		})
		text = strings.ReplaceAll(text, "\n", "\n< ") // before what is escaped
		list = append(list, visible(text))
	}
	return "< " + m.hide(strings.Join(list, "\n< ")) + "\n"
}

var instant = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z`)

var instantInPage = regexp.MustCompile(`<time [^>]*>[^<]*</time>`)

var style = regexp.MustCompile(`(?s)<style>.*</style>`)

// visible shows what is neither printed nor a line break.
func visible(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == '\n' || unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(text[i : i+size])
		} else {
			for _, c := range []byte(text[i : i+size]) {
				fmt.Fprintf(&b, "{{0x%02x}}", c)
			}
		}
		i += size
	}
	return b.String()
}

// width is what a line of JSON may have, in bytes.
const width = 160

// fold breaks JSON into lines. Nothing but line breaks and spaces at their beginnings is
// added; what had spaces of its own stays as it is.
func fold(text string, depth int) string {
	if len(text)+depth <= width || text[0] != '{' && text[0] != '[' || strings.Contains(text, "\n") {
		return text
	}
	var b strings.Builder
	b.WriteByte(text[0])
	indent := "\n" + strings.Repeat(" ", depth+1)
	nested, quoted, start, value := 0, false, 1, 1
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case nested == 0 && c == ':' && text[0] == '{':
			value = i + 1
		case nested == 0 && (c == ',' || i == len(text)-1):
			b.WriteString(indent + text[start:value] + fold(text[value:i], depth+1))
			if c == ',' {
				b.WriteByte(',')
			}
			start, value = i+1, i+1
		case c == '{', c == '[':
			nested++
		case c == '}', c == ']':
			nested--
		}
	}
	return b.String() + "\n" + strings.Repeat(" ", depth) + text[len(text)-1:]
}
