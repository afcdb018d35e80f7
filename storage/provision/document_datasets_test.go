package provision

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// maxMediaPath bounds the path of a video, in bytes, as package audiosearch does.
const maxMediaPath = 4096

// videoDocument returns a document with one dataset of these videos.
func videoDocument(videos ...string) string {
	return `{"organizations":[{"id":"acme","datasets":[{"id":"d","videos":[` + strings.Join(videos, ",") + `]}]}]}`
}

// numbers returns an object of that many bytes, whose values are long numbers: what a key
// and its number cost, beyond what is written, counts.
func numbers(bytes int) string {
	const keys = 100
	var b strings.Builder
	for i := range keys {
		fmt.Fprintf(&b, `,"%02d":1%s`, i, strings.Repeat("0", 500))
	}
	return "{" + b.String()[1:] + strings.Repeat("0", bytes-b.Len()-1) + "}"
}

func TestDatasetsRefused(t *testing.T) {
	meta := func(object string) string { return `{"id":"v","path":"v.wav","metadata":` + object + `}` }
	var many strings.Builder
	for i := range metadata.MaxKeys + 1 {
		fmt.Fprintf(&many, `,"k%d":0`, i)
	}
	for name, test := range map[string]struct{ videos, want string }{
		"unknown key":    {`{"id":"v","path":"v.wav","duration":3}`, `line 1, column 89: organizations[0].datasets[0].videos[0]: unknown key "duration"`},
		"no id":          {`{"path":"v.wav"}`, "videos[0]: id is missing"},
		"no path":        {`{"id":"v"}`, "videos[0]: path is missing"},
		"same id":        {`{"id":"v","path":"v.wav"},{"id":"v","path":"w.wav"}`, "videos[1].id: is the same as at line 1, column 70"},
		"absolute":       {`{"id":"v","path":"/etc/passwd"}`, "videos[0].path: must be relative and stay in the document's folder"},
		"leaving":        {`{"id":"v","path":"a/../../b.wav"}`, "must be relative and stay in the document's folder"},
		"long path":      {`{"id":"v","path":"` + strings.Repeat("x", maxMediaPath+1) + `"}`, "must be at most 4096 bytes"},
		"no object":      {meta(`[1]`), "videos[0].metadata: must be an object"},
		"null":           {meta(`null`), "videos[0].metadata: must be an object"},
		"nested":         {meta(`{"a":1,"season":{"n":3}}`), `line 1, column 116: organizations[0].datasets[0].videos[0].metadata.season: must be a string, a number, true, false or null`},
		"list":           {meta(`{"a 1":[]}`), "metadata.*: must be a string, a number, true, false or null"},
		"empty key":      {meta(`{"":1}`), "metadata: a key must not be empty"},
		"NUL in a key":   {meta(`{"a\u0000":1}`), "metadata: a key must not be empty or contain U+0000"},
		"too many keys":  {meta("{" + many.String()[1:] + "}"), "metadata: must have at most 1000 keys"},
		"too long":       {meta(`{"a":"` + strings.Repeat("x", metadata.MaxBytes) + `"}`), "metadata: must be at most 65536 bytes"},
		"long numbers":   {meta(numbers(metadata.MaxBytes - 2*100 + 2)), "metadata: must be at most 65536 bytes"},
		"metadata twice": {meta(`{"a":1,"a":2}`), "duplicate key"},
	} {
		_, err := readText(t, videoDocument(test.videos))
		if err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 500 {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

// TestDatasetsAtTheLimits: what the document may say, the service takes.
func TestDatasetsAtTheLimits(t *testing.T) {
	var many strings.Builder
	for i := range metadata.MaxKeys {
		fmt.Fprintf(&many, `,"%d":0`, i)
	}
	whole := metadata.MaxBytes - len(`{"a":""}`) - 2
	long := strings.Repeat(strings.Repeat("x", 200)+"/", maxMediaPath/201) + "v.wav"
	services, err := inMemory(t.Context())
	require.NoError(t, err)
	require.NoError(t, apply(t, services, videoDocument(
		`{"id":"keys","path":"`+long+`","metadata":{`+many.String()[1:]+`}}`,
		`{"id":"bytes","path":"v.wav","metadata":{"a":"`+strings.Repeat("x", whole)+`"}}`,
		`{"id":"numbers","path":"v.wav","metadata":`+numbers(metadata.MaxBytes-2*100+1)+`}`,
		`{"id":"nothing","path":"v.wav","metadata":{}}`)))
}
