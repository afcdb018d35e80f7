package httpadapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

func withClasses(classes ...sound.Class) *httpadapter.AudioSearchOptions {
	return &httpadapter.AudioSearchOptions{Classes: classes}
}

// A host with another vocabulary names its values, and AudioSet's are none then. So it is in
// the document.
func TestSearchClassesOfAHost(t *testing.T) {
	r := newSoundRig(t, withClasses("Silence", `Robin "rufa"`, "O'Hare"), nil)
	search := func(class string) string { return `{"dataset_id":"calls","audio_class":` + quoteJSON(class) + `}` }
	require.Equal(t, http.StatusOK, r.post(search("Silence")).Code)
	requireDetails(t, r.post(search("Dog")), detail{"body.audio_class", "enum", `Input should be 'Silence', 'Robin "rufa"' or "O'Hare"`})
	requireDetails(t, r.post(search(`Robin "rufa"`)), detail{"body.audio_class", "unsupported_class",
		"Cannot be found by this server, which knows: Dial tone; Silence"})

	document, err := httpadapter.OpenAPI(nil, r.handler)
	require.NoError(t, err)
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Enum []string }
		}
	}
	require.NoError(t, json.Unmarshal(document, &doc))
	require.Equal(t, []string{"Silence", `Robin "rufa"`, "O'Hare"}, doc.Components.Schemas["SoundClass"].Enum)
	// Mounted twice, it is described as one.
	other := newSoundRig(t, withClasses("Silence", "Dial tone"), nil)
	document, err = httpadapter.OpenAPI(nil, r.handler, other.handler)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(document, &doc))
	require.Equal(t, []string{"Silence", `Robin "rufa"`, "O'Hare", "Dial tone"}, doc.Components.Schemas["SoundClass"].Enum)
}

// ownScorer predicts a sound that AudioSet has no word for.
type ownScorer struct{ deafScorer }

func (s *ownScorer) Model(ctx context.Context) (sound.Model, error) {
	m, err := s.deafScorer.Model(ctx)
	m.ID, m.Family, m.Classes = "own/1", "own", []sound.Class{silence, "Robin"}
	return m, err
}

// The values of a service whose scorers predict what AudioSet does not have are theirs,
// though the host names none. While they are away, the classes are not known.
func TestSearchClassesOfTheService(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	scorer := new(ownScorer)
	service, err := audiosearch.New(audiosearch.Backend{Store: r.store, Queue: r.db.Queue(nil)},
		&audiosearch.Options{Scorers: []sound.Scorer{scorer}, Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	r.handler, err = httpadapter.NewAudioSearch(service, httpadapter.Bearer(verifySoundCaller), nil)
	require.NoError(t, err)
	search := func(class string) string { return `{"dataset_id":"calls","audio_class":` + class + `}` }
	described := func() []string {
		document, err := httpadapter.OpenAPI(nil, r.handler)
		require.NoError(t, err)
		var doc struct {
			Components struct {
				Schemas map[string]struct{ Enum []string }
			}
		}
		require.NoError(t, json.Unmarshal(document, &doc))
		return doc.Components.Schemas["SoundClass"].Enum
	}

	scorer.fail(errors.New("the model server is down"))
	require.Equal(t, http.StatusServiceUnavailable, r.post(search(`"Robin"`)).Code)
	require.Equal(t, http.StatusUnprocessableEntity, r.post(search(`""`)).Code)
	require.Len(t, described(), audioset.NumClasses)
	scorer.fail(nil)
	require.Equal(t, http.StatusOK, r.post(search(`"Robin"`)).Code)
	require.Equal(t, []string{"Silence", "Robin"}, described())
	for _, wrong := range []string{`"robin"`, `7`} {
		requireDetails(t, r.post(search(wrong)), detail{"body.audio_class", "enum", "Input should be 'Silence' or 'Robin'"})
	}
	w := r.post(search(`"Dog"`))
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), `"unsupported_class"`)
}

// A misspelt class of a large vocabulary is not answered with all of it.
func TestSearchManyClasses(t *testing.T) {
	classes := []sound.Class{"Silence"}
	for i := 1; i < sound.MaxClasses; i++ {
		classes = append(classes, sound.Class(fmt.Sprintf("%0255d", i)))
	}
	r := newSoundRig(t, withClasses(classes...), nil)
	require.Equal(t, http.StatusOK, r.post(`{"dataset_id":"calls","audio_class":"Silence"}`).Code)
	const many = "Input should be one of the 10000 sound classes of this server"
	for wrong, message := range map[string]string{
		`"silence"`: many + "; did you mean 'Silence'?", `"Dog"`: many, `7`: many,
	} {
		requireDetails(t, r.post(`{"dataset_id":"calls","audio_class":`+wrong+`}`),
			detail{"body.audio_class", "enum", message})
	}

	for _, wrong := range [][]sound.Class{append(classes, "one more"), {"Dog", "Dog"}, {""}, {sound.Class(strings.Repeat("n", 256))}} {
		_, err := httpadapter.NewAudioSearch(r.service, httpadapter.Bearer(verifySoundCaller), withClasses(wrong...))
		require.ErrorContains(t, err, "Classes")
	}
}
