package audiosearchdb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// TestVideosByID: videos come in the order in which they are asked for, and no more than
// a bound of metadata at once.
func TestVideosByID(t *testing.T) {
	db := openHeard(t, t.TempDir()+"/test.db", nil)
	tables := db.audiosearch
	long := metadata.Map{"text": metadata.String(strings.Repeat("x", metadataAtOnce*3/5))}
	require.NoError(t, tables.PutVideos(t.Context(), "acme", "d", []audiosearch.Video{
		{ID: "x1", Path: "p", Metadata: long}, {ID: "x2", Path: "p", Metadata: long}, {ID: "x3", Path: "p", Metadata: long},
	}))
	for _, c := range []struct {
		ids, found []string
		looked     int
	}{
		{nil, nil, 0},
		{[]string{"none"}, nil, 1},
		{[]string{"v9", "none", "v10", "v1"}, []string{"v9", "v10", "v1"}, 4},
		{[]string{"x2", "none", "x1", "x3", "v1"}, []string{"x2", "x1"}, 3},
		{[]string{"v1", "x3", "none"}, []string{"v1", "x3"}, 3},
	} {
		videos, looked, err := tables.Videos(t.Context(), "acme", "d", c.ids)
		require.NoError(t, err)
		require.Equal(t, c.looked, looked, "%v", c.ids)
		var found []string
		for _, v := range videos {
			require.Equal(t, "p", v.Path)
			require.NotEmpty(t, v.Metadata)
			found = append(found, v.ID)
		}
		require.Equal(t, c.found, found)
	}
	_, _, err := tables.Videos(t.Context(), "acme", "none", []string{"v1"})
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	_, err = tables.Scorings(t.Context(), "acme", "none", "m", []string{"v1"})
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
}
