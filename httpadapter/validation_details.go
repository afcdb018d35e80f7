package httpadapter

import (
	"strconv"
	"strings"

	"github.com/seed-6363c74e/mortise"
)

// detail is one problem of a request, as FastAPI with pydantic v2 writes it: loc says
// where ("body", "query", "header" or "path", then names and indexes), msg what, and type
// is for programs.
type detail struct {
	Loc  []any  `json:"loc"` // strings and ints
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

// maxDetails bounds the problems in one answer.
const maxDetails = 100

// maxLocKey bounds a key of the caller's that is repeated in a loc, in bytes.
const maxLocKey = 256

// Messages of pydantic v2 (pydantic-core, src/errors/types.rs) and FastAPI
// (fastapi/routing.py).
const (
	msgJSON       = "JSON decode error"
	msgMissing    = "Field required"
	msgExtra      = "Extra inputs are not permitted"
	msgObject     = "Input should be a valid dictionary or object to extract fields from"
	msgDictionary = "Input should be a valid dictionary"
	msgList       = "Input should be a valid list"
	msgString     = "Input should be a valid string"
	msgInteger    = "Input should be a valid integer"
	msgNumber     = "Input should be a valid number"
	msgBoolean    = "Input should be a valid boolean"
	msgUUIDType   = "UUID input should be a string, bytes or UUID object"
	msgValue      = "Value error, " // what a validator of the service's own says
)

// path is the way to a value: a key or an index within its parent.
type path struct {
	parent *path
	key    string
	index  int // counts if key is ""
	isItem bool
}

func (p *path) loc(last ...any) []any {
	var loc []any
	if p.parent != nil {
		loc = p.parent.loc()
	}
	if p.isItem {
		loc = append(loc, p.index)
	} else {
		loc = append(loc, p.key)
	}
	return append(loc, last...)
}

// locOf is the place of what a service found, in a part of the request.
func locOf(part string, p mortise.Path) []any {
	loc := append(make([]any, 0, 1+len(p)), part)
	for _, step := range p {
		if step.Field == "" {
			loc = append(loc, step.Index)
		} else {
			loc = append(loc, step.Field)
		}
	}
	return loc
}

func clipKey(key string) string {
	if len(key) <= maxLocKey {
		return key
	}
	return strings.ToValidUTF8(key[:maxLocKey], "") + "..."
}

func atLeast(n int64) string {
	return "Input should be greater than or equal to " + strconv.FormatInt(n, 10)
}
func atMost(n int64) string {
	return "Input should be less than or equal to " + strconv.FormatInt(n, 10)
}

func tooShort(n int) string { return "String should have at least " + count(n, "character") }
func tooLong(n int) string  { return "String should have at most " + count(n, "character") }

func tooManyItems(most, got int) string {
	return "List should have at most " + count(most, "item") + " after validation, not " + strconv.Itoa(got)
}

func tooFewItems(least, got int) string {
	return "List should have at least " + count(least, "item") + " after validation, not " + strconv.Itoa(got)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// oneOf is pydantic's message for an enum: 'a', 'b' or 'c', each quoted as Python's repr
// does.
func oneOf(values []string) string {
	var b strings.Builder
	b.WriteString("Input should be ")
	for i, v := range values {
		switch {
		case i == 0:
		case i == len(values)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		quote := "'"
		if strings.Contains(v, "'") && !strings.Contains(v, `"`) {
			quote = `"`
		}
		b.WriteString(quote + v + quote)
	}
	return b.String()
}

// uuidProblem returns pydantic's message for a text that is no UUID, "" if it is one. The
// reasons are those of the Rust crate uuid 1.18 (InvalidUuid::into_err), which pydantic
// shows.
func uuidProblem(text string) string {
	const prefix = "Input should be a valid UUID, "
	rest, offset, simple := text, 0, true
	if len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}' {
		rest, offset, simple = text[1:len(text)-1], 1, false
	} else if after, ok := strings.CutPrefix(text, "urn:uuid:"); ok {
		rest, offset, simple = after, len("urn:uuid:"), false
	}
	var hyphens []int
	for i, r := range rest {
		switch {
		case r == '-':
			hyphens = append(hyphens, i)
		case r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F':
		default:
			return prefix + "invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `" +
				string(r) + "` at " + strconv.Itoa(i+offset+1)
		}
	}
	if len(hyphens) == 0 && simple {
		if len(rest) == 32 {
			return ""
		}
		return prefix + "invalid length: expected length 32 for simple format, found " + strconv.Itoa(len(text))
	}
	if len(hyphens) != 4 {
		return prefix + "invalid group count: expected 5, found " + strconv.Itoa(len(hyphens)+1)
	}
	start := 0
	for group, length := range []int{8, 4, 4, 4, 12} {
		end := len(rest)
		if group < 4 {
			end = hyphens[group]
		}
		if end-start != length {
			return prefix + "invalid group length in group " + strconv.Itoa(group) + ": expected " + strconv.Itoa(length) +
				", found " + strconv.Itoa(end-start)
		}
		start = end + 1
	}
	return ""
}
