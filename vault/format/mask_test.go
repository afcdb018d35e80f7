package format_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/format"
)

func TestMask(t *testing.T) {
	for _, c := range []struct{ mask, value, want string }{
		{"", "anything", "********"},
		{"*", "anything", "********"},
		{"0*4", "4111111111111111", "********1111"},
		{"0*4", "12345678", "********5678"},
		{"0*4", "1234567", "********"}, // more than half of it would be seen
		{"0*4", "", "********"},
		{"2*2", "abcdefgh", "ab********gh"},
		{"2*2", "abcdefg", "********"},
		{"1*@", "ada@example.com", "a********@example.com"},
		{"1*@", "a@example.com", "********@example.com"},
		{"0*@", "ada@example.com", "********@example.com"},
		{"1*@", "ada@home@example.com", "a********@example.com"},
		{"1*@", "no address", "********"},
		{"1*1", "Zoë Ångström", "Z********m"},
		{"1*1", "ñandú", "ñ********ú"},
		{"0*0", "anything", "********"},
	} {
		m, err := format.ParseMask(c.mask)
		require.NoError(t, err, c.mask)
		require.Equal(t, c.want, m.Apply(c.value), "%s on %s", c.mask, c.value)
	}
	for _, wrong := range []string{"4", "**", "a*b", "1*", "*1", "17*0", "0*17", "-1*0", "01*1", "+1*1", "1*@x", "@*1", " 1*1", "1*1*1"} {
		_, err := format.ParseMask(wrong)
		require.Error(t, err, wrong)
	}
}

// A mask never shows more than half of what stands before the domain, whatever it is
// given.
func FuzzMask(f *testing.F) {
	f.Add("0*4", "4111111111111111")
	f.Add("1*@", "ada@example.com")
	f.Add("16*16", "\xff\xfe")
	f.Fuzz(func(t *testing.T, mask, value string) {
		m, err := format.ParseMask(mask)
		if err != nil {
			return
		}
		shown := m.Apply(value)
		require.Contains(t, shown, "********")
		if !m.Domain {
			require.LessOrEqual(t, 2*(utf8.RuneCountInString(shown)-8), utf8.RuneCountInString(value))
		}
	})
}
