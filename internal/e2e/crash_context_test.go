package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// oddContext returns a JSON object of all that a store could be tempted to tidy up.
func oddContext(r *rand.Rand) string {
	var b strings.Builder
	space := func() { b.WriteString([]string{"", "", " ", "\n", "\t", "\r\n  "}[r.IntN(6)]) }
	digits := func(n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = '0' + byte(r.IntN(10))
		}
		return "1" + string(text)
	}
	pieces := []string{`\u0000`, `\u0000x`, `\/`, `/`, `\u00e9`, "é", `\ud83d\ude00`, `\uD83D\uDE00`, "\U0001F600", `\b\f\n\r\t\"\\`, "\u2028", `\u2028`,
		"<&>", `\u003c`, "\uFFFD", "\uFFFF", "\x7f", "'", ";--", "a b", "e\u0301", `\u005cu0000`, "\u202e"}
	text := func() {
		b.WriteByte('"')
		for range r.IntN(4) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		b.WriteByte('"')
	}
	var value func(depth int)
	value = func(depth int) {
		space()
		switch kind := r.IntN(12); {
		case kind < 3:
			b.WriteString([]string{"-0", "0.10", "1E+400", "-1e-400", "0e0", "1.0", "100", "9007199254740993", "true", "false", "null", "{}", "[ ]"}[r.IntN(13)])
		case kind < 5:
			fmt.Fprintf(&b, "-%s.%s", digits(r.IntN(40)), digits(r.IntN(40)))
		case kind < 6:
			fmt.Fprintf(&b, "%se%s", digits(r.IntN(60)), digits(r.IntN(8)))
		case kind < 9 || depth > 4:
			text()
		default:
			b.WriteByte('[')
			for i := range 1 + r.IntN(4) {
				if i > 0 {
					b.WriteByte(',')
				}
				value(depth + 1)
			}
			b.WriteByte(']')
		}
		space()
	}
	b.WriteString(`{`)
	for i := range r.IntN(5) {
		space()
		fmt.Fprintf(&b, `"%d%s"`, i, pieces[r.IntN(len(pieces))]) // a name once: the number differs
		space()
		b.WriteByte(':')
		value(0)
		b.WriteByte(',')
	}
	// Now and then one that does not fit into a page of the database.
	fmt.Fprintf(&b, `"long" : "%s" }`, strings.Repeat("é", r.IntN(8)*r.IntN(8)*r.IntN(2)*100))
	return b.String()
}
