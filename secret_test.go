package mortise_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/printed"
)

func TestSecretPrintsAsRedacted(t *testing.T) {
	const text = "at-a token that is shown once"
	secret := mortise.NewSecret(text)
	out, err := printed.Ways(secret)
	require.NoError(t, err)
	require.Empty(t, printed.Found(out, text))
	require.Equal(t, "[redacted]", secret.String())

	type reply struct {
		Token  mortise.Secret
		None   mortise.Secret `json:",omitzero"`
		Behind *mortise.Secret
	}
	encoded, err := json.Marshal(reply{Token: secret, Behind: &secret})
	require.NoError(t, err)
	require.Equal(t, `{"Token":"[redacted]","Behind":"[redacted]"}`, string(encoded))
	require.Error(t, json.Unmarshal(encoded, new(reply)), "it cannot be read back")
	encoded, err = xml.Marshal(reply{Token: secret})
	require.NoError(t, err)
	require.Equal(t, `<reply><Token>[redacted]</Token><None>[redacted]</None></reply>`, string(encoded))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10s"} {
		require.Equal(t, "[redacted]", fmt.Sprintf(verb, secret), verb)
		require.Equal(t, "[redacted]", fmt.Sprintf(verb, &secret), verb)
		require.Equal(t, "[redacted]", fmt.Sprintf(verb, mortise.Secret{}), verb)
	}
	require.EqualError(t, errors.Join(fmt.Errorf("no use for %s", secret)), "no use for [redacted]")
}

func TestSecretReveal(t *testing.T) {
	for _, text := range []string{"x", "[redacted]", "\x00\xff", "two\nlines"} {
		secret := mortise.NewSecret(text)
		require.Equal(t, text, secret.Reveal())
		require.False(t, secret.IsZero())
	}
	require.Equal(t, mortise.Secret{}, mortise.NewSecret(""))
	require.Empty(t, mortise.Secret{}.Reveal())
	require.True(t, mortise.Secret{}.IsZero())
	require.False(t, reflect.TypeFor[mortise.Secret]().Comparable())
}

// Tools that print by reflection, and call no methods, do not reach the text.
func TestSecretIsNotFoundByReflection(t *testing.T) {
	const text = "at-a token that is shown once"
	var out failures
	type record struct{ token, other mortise.Secret }
	require.False(t, assert.Equal(&out, &record{other: mortise.NewSecret(text)}, &record{token: mortise.NewSecret(text)}))
	require.Contains(t, out.String(), "Diff:")
	require.Empty(t, printed.Found(out.String(), text))
}

// failures is what a test prints.
type failures struct{ strings.Builder }

func (f *failures) Errorf(format string, args ...any) { fmt.Fprintf(f, format, args...) }

// What is printed of a secret does not show it. Whoever hands it over reveals it.
func ExampleSecret() {
	made := struct {
		ID     string
		Secret mortise.Secret
	}{"build", mortise.NewSecret("cs-4f1d")}
	fmt.Printf("%+v\n", made)
	fmt.Println(made.Secret.Reveal())
	// Output:
	// {ID:build Secret:[redacted]}
	// cs-4f1d
}
