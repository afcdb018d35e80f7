package httpadapter

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// params reads what stands in the URL and the header, and notes what is wrong with it in
// d. Of a parameter that is given several times the last one counts, as in FastAPI.
type params struct {
	d     *decoder
	query url.Values
}

func newParams(d *decoder, r *http.Request) params {
	if r.URL.RawQuery == "" {
		return params{d: d}
	}
	return params{d: d, query: parseQuery(r.URL.RawQuery)}
}

// parseQuery reads a query as Python's parse_qsl does, on which FastAPI stands: pairs end
// at "&" alone, and what is no escape stays as it is. url.ParseQuery drops such pairs, so
// that a filter with a mistake in it would select everything.
func parseQuery(raw string) url.Values {
	unescape := func(text string) string {
		if plain, err := url.QueryUnescape(text); err == nil {
			return plain
		}
		return strings.ReplaceAll(text, "+", " ")
	}
	values := make(url.Values)
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name = unescape(name)
		values[name] = append(values[name], unescape(value))
	}
	return values
}

// only refuses all parameters but these.
func (p params) only(names ...string) {
	for _, name := range slices.Sorted(maps.Keys(p.query)) {
		if !slices.Contains(names, name) {
			p.refuse(name, "extra_forbidden", msgExtra)
		}
	}
}

func (p params) last(name string) (string, bool) {
	values := p.query[name]
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

func (p params) refuse(name, typ, msg string) { p.d.add([]any{"query", name}, typ, msg) }

func (p params) text(name string) string {
	text, _ := p.last(name)
	return text
}

func (p params) enum(name string, values []string) string {
	text, ok := p.last(name)
	if !ok {
		return ""
	}
	for _, value := range values {
		if text == value {
			return value
		}
	}
	p.refuse(name, "enum", oneOf(values))
	return ""
}

func (p params) integer(name string, fallback, least, most int64) int64 {
	text, ok := p.last(name)
	if !ok {
		return fallback
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange): // beyond its range, n is the nearest there is
		p.refuse(name, "int_parsing", msgInteger+", unable to parse string as an integer")
	case n < least:
		p.refuse(name, "greater_than_equal", atLeast(least))
	case n > most:
		p.refuse(name, "less_than_equal", atMost(most))
	default:
		return n
	}
	return fallback
}

// rfc3339 is what a time must look like besides: time.Parse also takes a comma, an hour of one
// digit, and an offset of 24 hours (go.dev/issue/54580).
var rfc3339 = regexp.MustCompile(`T..:..:..(\.[0-9]+)?(Z|[+-]([01].|2[0-3]):[0-5].)$`)

// instant reads a time in RFC 3339. A plus that the URL's encoding turned into a space is
// taken for what it was.
func (p params) instant(name string) time.Time {
	text, ok := p.last(name)
	if !ok {
		return time.Time{}
	}
	at, ok := parseInstant(strings.Replace(text, " ", "+", 1))
	if !ok {
		p.refuse(name, "datetime_parsing", msgInstant)
	}
	return at
}

const msgInstant = "Input should be a valid datetime, in the form 2006-01-02T15:04:05Z of RFC 3339"

// parseInstant reads a time in RFC 3339, in letters of any case.
func parseInstant(text string) (at time.Time, ok bool) {
	text = strings.ToUpper(text)
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !rfc3339.MatchString(text) {
		return time.Time{}, false
	}
	return at.UTC(), true
}

// pathUUID reads a path value that must be a UUID.
func (p params) pathUUID(r *http.Request, name string) uuid.UUID {
	text := r.PathValue(name)
	if msg := uuidProblem(text); msg != "" {
		p.d.add([]any{"path", name}, "uuid_parsing", clipKey(msg))
		return uuid.Nil
	}
	id, err := uuid.Parse(text)
	if err != nil {
		p.d.add([]any{"path", name}, "uuid_parsing", "Input should be a valid UUID")
	}
	return id
}
