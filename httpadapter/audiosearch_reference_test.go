package httpadapter_test

import (
	"html"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/httpadapter/reference"
)

// The reference page has the operations, and every class, folded.
func TestReferenceOfAudioSearch(t *testing.T) {
	document, err := httpadapter.OpenAPI([]string{"https://api.example.com"}, newSoundRig(t, nil, nil).handler)
	require.NoError(t, err)
	h, err := reference.New(document)
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/docs", nil))
	page := html.UnescapeString(w.Body.String())
	for _, text := range []string{"https://api.example.com" + soundURL, jobStatus, jobResult, jobCancel,
		"<summary>One of 527 values</summary>", `<code>"contains"</code>`,
		"Dataset not found", "unsupported_class", "metadata_filters[].", "moderation_score", "results[].video.", "integer (int64)"} {
		require.Contains(t, page, text)
	}
	for _, class := range audioset.Classes() {
		require.Contains(t, page, `<li><code>"`+string(class)+`"</code></li>`)
	}
}
