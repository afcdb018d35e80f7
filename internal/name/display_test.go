package name_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise/internal/name"
)

func TestDisplayProblem(t *testing.T) {
	for _, text := range []string{"Ada Lovelace", "山田 太郎", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f469\u200d\U0001f680", "a", "René <\"'&>", "x\u00a0y", "\u2764\ufe0f"} {
		assert.Empty(t, name.DisplayProblem(text), "%q", text)
	}
	for _, text := range []string{
		"Ada\r\nBcc: eve@example.com", "\x1b[31mred", "tab\tbed", "\u0085", "zero\u200bwidth", "\u202egnp.exe", "\u2066x", "\ufeffx", "soft\u00adhyphen",
		"line\u2028end", "\u2029", "\x7f",
		"Ada\u3164", "\uffa0", "\u115f", "\u1160", "\u2800", "\u034f", "Ada\U000e0101", "\u17b4", "\u180b",
	} {
		assert.Equal(t, "must not contain control or invisible characters", name.DisplayProblem(text), "%q", text)
	}
	for _, text := range []string{" ", "\u00a0\u3000", "\u200d", " \u200c "} {
		assert.Equal(t, "must not be blank", name.DisplayProblem(text), "%q", text)
	}
	for _, text := range []string{"", "\x00", "\xff"} {
		assert.Equal(t, name.Problem(text), name.DisplayProblem(text), "%q", text)
	}
}
