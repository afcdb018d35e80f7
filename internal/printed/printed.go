// Package printed is for tests of what must not be seen when it is printed.
package printed

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"strings"
)

// verbs are all that package fmt knows, and one that it does not.
var verbs = []string{
	"%v", "%+v", "%#v", "%T", "%t", "%b", "%c", "%d", "%o", "%O", "%q", "%x", "%X", "% x", "%#x", "%U", "%e", "%g", "%s", "%p", "%w", "%y",
}

// Ways prints something in all ways in which a program may come to print it: by each verb
// of package fmt, in both handlers of log/slog, as JSON, in a template and in an error;
// and by itself, behind a pointer, in a map, a list, an interface and fields of a struct.
func Ways[T any](v T) (string, error) {
	type inside struct {
		Exported   T
		Any        any
		unexported T
		hidden     *T
	}
	var out bytes.Buffer
	for _, within := range []any{
		v, &v, []T{v}, []any{v}, [1]T{v}, map[string]T{"k": v}, map[string]any{"k": &v}, inside{v, v, v, &v}, &inside{v, &v, v, &v},
	} {
		for _, verb := range verbs {
			fmt.Fprintf(&out, verb+"\n", within)
		}
		fmt.Fprintln(&out, within)
		text, err := json.Marshal(within)
		if err != nil {
			return "", err
		}
		out.Write(text)
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).With("with", within).Info("x", "v", within, slog.Group("g", "in", within))
		}
		wrapped := fmt.Errorf("wrapped: %w", fmt.Errorf("an error about %v", within))
		fmt.Fprintf(&out, "%v %+v %#v\n", wrapped, wrapped, errors.Join(wrapped))
		if err := page.Execute(&out, within); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

var page = template.Must(template.New("").Parse(`<p id="{{.}}">{{.}}<script>x({{.}})</script>`))

// Spellings returns in how many ways a text may stand in what was printed: as it is, and
// as hexadecimal digits, base64 and numbers. Of encodings whose ends depend on what
// stands beside the text, it is the middle. The text should have 12 bytes or more.
func Spellings(text string) []string {
	b := []byte(text)
	forms := []string{
		text, strings.ToLower(text), strings.ToUpper(text), hex.EncodeToString(b), strings.ToUpper(hex.EncodeToString(b)),
		strings.Trim(fmt.Sprint(b), "[]"), strings.Trim(fmt.Sprintf("% x", b), " "), strings.Trim(fmt.Sprintf("%#v", b[:6]), "[]byte{}"),
	}
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + text))
		forms = append(forms, encoded[4:len(encoded)-4])
	}
	return forms
}

// Found returns those spellings of a text that stand in what was printed.
func Found(out, text string) []string {
	var found []string
	for _, form := range Spellings(text) {
		if strings.Contains(out, form) {
			found = append(found, form)
		}
	}
	return found
}
