package format

import (
	"errors"
	"strconv"
	"strings"
)

// Mask says what is shown of a masked value: its first and last characters, with stars
// between them.
type Mask struct {
	First  int  // characters (code points) shown at the start
	Last   int  // and at the end
	Domain bool // instead of Last: everything from the last @ on
}

// maxShown bounds each end of a mask.
const maxShown = 16

var errMask = errors.New(`must be like "0*4" (how many characters are shown at both ends, 16 at most), "1*@" (the end from the @ on), or "*"`)

// ParseMask reads a mask: "0*4" shows the last four characters, "2*2" two at each end,
// "1*@" the first one and the domain of an email address, "*" and "" nothing. (A column
// without a mask has that of its format: "0*4" for digits, "1*@" for email.)
func ParseMask(text string) (Mask, error) {
	if text == "" || text == "*" {
		return Mask{}, nil
	}
	first, last, ok := strings.Cut(text, "*")
	if !ok {
		return Mask{}, errMask
	}
	var m Mask
	if m.First, ok = shown(first); !ok {
		return Mask{}, errMask
	}
	if last == "@" {
		m.Domain = true
		return m, nil
	}
	if m.Last, ok = shown(last); !ok {
		return Mask{}, errMask
	}
	return m, nil
}

func shown(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n <= maxShown && strconv.Itoa(n) == text
}

// stars stand for what is hidden, however long that is: the length of a value says
// something about it.
const stars = "********"

// Apply returns the value as the mask shows it. If that would be more than half of the
// value (of what stands before the @, if the mask has one), it hides all of that. A byte
// that is not UTF-8 counts as a character.
func (m Mask) Apply(value string) string {
	runes := []rune(value)
	domain := ""
	if m.Domain {
		at := strings.LastIndexByte(value, '@')
		if at < 0 {
			return stars
		}
		domain, runes = value[at:], []rune(value[:at])
	}
	if n := m.First + m.Last; n == 0 && !m.Domain || 2*n > len(runes) {
		return stars + domain
	}
	return string(runes[:m.First]) + stars + string(runes[len(runes)-m.Last:]) + domain
}
