package name

import (
	"strconv"
	"unicode/utf8"
)

// quoted bounds what [Quote] repeats of a name, in bytes.
const quoted = 100

// Quote returns a name for an error's text: as a Go string literal, which is one line
// whatever is in it, of at most 100 bytes of the name. Three dots after it say that it goes
// on.
func Quote(name string) string {
	if len(name) <= quoted {
		return strconv.Quote(name)
	}
	end := quoted
	for end > quoted-utf8.UTFMax && !utf8.RuneStart(name[end]) { // not within a character
		end--
	}
	if !utf8.RuneStart(name[end]) { // it is no UTF-8
		end = quoted
	}
	return strconv.Quote(name[:end]) + "..."
}
