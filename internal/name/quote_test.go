package name_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise/internal/name"
)

func TestQuote(t *testing.T) {
	e := func(n int) string { return strings.Repeat("é", n) }
	for text, want := range map[string]string{
		"":                                 `""`,
		"people":                           `"people"`,
		"a\n\"b\"\x00\x1b\xff\u2028":       `"a\n\"b\"\x00\x1b\xff\u2028"`,
		strings.Repeat("n", 100):           `"` + strings.Repeat("n", 100) + `"`,
		strings.Repeat("n", 101):           `"` + strings.Repeat("n", 100) + `"...`,
		e(50):                              `"` + e(50) + `"`,
		e(51):                              `"` + e(50) + `"...`,
		"n" + e(50):                        `"n` + e(49) + `"...`,
		strings.Repeat("n", 97) + "😀x":     `"` + strings.Repeat("n", 97) + `"...`,
		strings.Repeat("n", 98) + "😀x":     `"` + strings.Repeat("n", 98) + `"...`,
		strings.Repeat("n", 96) + "😀x":     `"` + strings.Repeat("n", 96) + `😀"...`,
		strings.Repeat("\xff", 101):        `"` + strings.Repeat(`\xff`, 100) + `"...`,
		strings.Repeat("\x80", 101):        `"` + strings.Repeat(`\x80`, 100) + `"...`,
		strings.Repeat("n", 1<<20):         `"` + strings.Repeat("n", 100) + `"...`,
		strings.Repeat("n", 99) + "\ufffd": `"` + strings.Repeat("n", 99) + `"...`,
	} {
		got := name.Quote(text)
		assert.Equal(t, want, got)
		assert.True(t, utf8.ValidString(got))
	}
}
