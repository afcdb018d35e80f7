package httpadapter

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

func TestSearchProblemsOfTheService(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	s, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{describedScorer{}}})
	require.NoError(t, err)
	validation := func(problems ...mortise.Problem) error { // a real one, with other problems
		_, err := s.CreateDataset(t.Context(), "acme", "", "")
		var failure *mortise.ValidationError
		require.ErrorAs(t, err, &failure)
		failure.Problems = problems
		return fmt.Errorf("wrapped: %w", failure)
	}
	one := func(field string, kind mortise.ProblemKind) mortise.Problem {
		return mortise.Problem{Path: mortise.Path{{Field: field}}, Kind: kind, Message: "is wrong"}
	}
	p, known := audioSearchErrors.classify(validation(one("audio_class", audiosearch.ProblemUnsupportedClass),
		mortise.Problem{Path: mortise.Path{{Field: "metadata_filters"}, {Index: 12}, {Field: "key"}},
			Kind: audiosearch.ProblemUnknownKey, Message: "is wrong"},
		one("limit", ""), one("metadata_filters", "")))
	require.True(t, known)
	require.Equal(t, problem{kind: invalid, details: []detail{
		{[]any{"body", "audio_class"}, "Is wrong", "unsupported_class"}, {[]any{"body", "metadata_filters", 12, "key"}, "Is wrong", "unknown_key"},
		{[]any{"body", "limit"}, "Value error, is wrong", "value_error"}, {[]any{"body", "metadata_filters"}, "Value error, is wrong", "value_error"},
	}}, p)
	require.Empty(t, capitalized(""))
	// What the caller has not sent is not a mistake of theirs.
	for _, err := range []error{
		validation(one("min_score", "")), validation(one("audio_class", ""), one("id", "")),
		validation(one("metadata_filters[2].key", "")),
		validation(one("", "")), validation(mortise.Problem{}), validation(),
	} {
		p, known := audioSearchErrors.classify(err)
		require.Equal(t, problem{kind: unavailable}, p, err.Error())
		require.False(t, known, "the operator is told")
	}
}

func TestSearchErrorsOfTheService(t *testing.T) {
	for err, want := range map[error]problem{
		audiosearch.ErrDatasetNotFound: {kind: notFound, message: "Dataset not found"}, audiosearch.ErrRunNotFound: {kind: notFound, message: "Run not found"},
		audiosearch.ErrFinished: {kind: domain, status: http.StatusConflict, message: "The run has ended, so there is nothing to cancel."},
		ErrForbidden:            {kind: forbidden}, ErrUnauthenticated: {kind: unauthenticated},
	} {
		p, known := audioSearchErrors.classify(fmt.Errorf("wrapped: %w", err))
		require.Equal(t, want, p)
		require.True(t, known)
	}
	for _, err := range []error{mortise.ErrUnavailable, audiosearch.ErrVideoNotFound, mortise.ErrExists, audiosearch.ErrConflict, errors.ErrUnsupported} {
		p, known := audioSearchErrors.classify(err)
		require.Equal(t, problem{kind: unavailable}, p)
		require.False(t, known, "the operator is told")
	}
}
