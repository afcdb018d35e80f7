package audiosearchtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// catalogRules are the rules of PutVideos, DeleteVideo, and of Videos for one ID.
var catalogRules = []rule{
	{Rule{"catalog/no-dataset", "Each method of Catalog returns ErrDatasetNotFound if there is no such dataset, or if another organization has it."}, needCatalog,
		func(t *testing.T, s *subject) {
			for _, c := range s.catalogCalls() {
				require.ErrorIs(t, c.do(t.Context(), orgA, setA), audiosearch.ErrDatasetNotFound, c.name)
			}
			s.makeDataset(t, orgA, setA)
			v := s.put(t, orgA, setA, video("v", nil))
			for _, c := range s.catalogCalls() {
				require.ErrorIs(t, c.do(t.Context(), orgA, setB), audiosearch.ErrDatasetNotFound, c.name)
				require.ErrorIs(t, c.do(t.Context(), orgB, setA), audiosearch.ErrDatasetNotFound, c.name)
			}
			s.hasVideo(t, orgA, setA, v)
			for _, c := range s.catalogCalls() {
				require.NoError(t, c.do(t.Context(), orgA, setA), c.name)
			}
		}},

	{Rule{"catalog/put-and-get", "PutVideos stores videos, and Videos returns each as it was: path, and metadata as it was written."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			bare, full := video("bare", nil), video("full", everyKind())
			full.Path = "a folder/'\u00e9' %.mp4"
			s.put(t, orgA, setA, bare, full)
			s.hasVideo(t, orgA, setA, bare)
			s.hasVideo(t, orgA, setA, full)
		}},

	{Rule{"catalog/longest", "Every text of a video comes back whole, as long as it can be."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			v := video("v", nil)
			mutate.Stretch(&v)
			s.put(t, orgA, setA, v)
			s.hasVideo(t, orgA, setA, v)
			sameVideo(t, v, s.list(t, orgA, setA)[0])
		}},

	{Rule{"catalog/much-metadata", "Metadata has up to metadata.MaxKeys keys and metadata.MaxBytes bytes."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			many, long := metadata.Map{}, metadata.Map{}
			for i := range metadata.MaxKeys {
				many[fmt.Sprint("key ", i)] = metadata.Int(int64(i))
			}
			long[strings.Repeat("k", 1000)] = metadata.String(strings.Repeat("\u00fc", metadata.MaxBytes/2-1000))
			s.put(t, orgA, setA, video("many", many), video("long", long))
			s.hasVideo(t, orgA, setA, video("many", many))
			s.hasVideo(t, orgA, setA, video("long", long))
		}},

	{Rule{"catalog/put-replaces", "PutVideos stores videos instead of those of the same IDs: of the old metadata nothing is left."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			other := s.put(t, orgA, setA, video("other", metadata.Map{"old": metadata.Int(1)}))
			s.put(t, orgA, setA, video("v", everyKind()))
			again := video("v", metadata.Map{"one": metadata.String("1"), "new": metadata.Bool(true)})
			again.Path = "moved.mp4"
			s.put(t, orgA, setA, again, video("w", nil))
			s.hasVideo(t, orgA, setA, again)
			s.put(t, orgA, setA, video("v", nil))
			s.hasVideo(t, orgA, setA, video("v", nil))
			s.hasVideo(t, orgA, setA, other)
			require.Equal(t, []string{"other", "v", "w"}, videoIDs(s.list(t, orgA, setA)))
		}},

	{Rule{"catalog/get-unknown", "Videos leaves out a video that the dataset does not have."}, needCatalog,
		func(t *testing.T, s *subject) {
			for _, in := range [][2]string{{orgA, setA}, {orgA, setB}, {orgB, setA}} {
				s.makeDataset(t, in[0], in[1])
				s.put(t, in[0], in[1], video("of "+in[0]+in[1], nil))
			}
			for _, id := range []string{"v", "", "of " + orgA + setB, "of " + orgB + setA} {
				_, err := s.oneVideo(t.Context(), orgA, setA, id)
				require.ErrorIs(t, err, audiosearch.ErrVideoNotFound, id)
			}
		}},

	{Rule{"catalog/datasets-are-apart", "Videos of the same ID in other datasets, and in those of other organizations, are other videos."}, needCatalog,
		func(t *testing.T, s *subject) {
			in := [][2]string{{orgA, setA}, {orgA, setB}, {orgB, setA}}
			of := func(i int) audiosearch.Video {
				return audiosearch.Video{ID: "v", Path: fmt.Sprint("path ", i), Metadata: metadata.Map{"n": metadata.Int(int64(i))}}
			}
			for i, at := range in {
				s.makeDataset(t, at[0], at[1])
				s.put(t, at[0], at[1], of(i))
			}
			for i, at := range in {
				s.hasVideo(t, at[0], at[1], of(i))
			}
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "v"))
			s.hasVideo(t, orgA, setB, of(1))
			s.hasVideo(t, orgB, setA, of(2))
		}},

	{Rule{"catalog/ids-are-exact", "Videos are the same if every byte of their IDs is."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			var videos []audiosearch.Video
			for i, id := range exactNames {
				videos = append(videos, video(id, metadata.Map{"n": metadata.Int(int64(i))}))
			}
			s.put(t, orgA, setA, videos...)
			for _, v := range videos {
				s.hasVideo(t, orgA, setA, v)
			}
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, exactNames[0]))
			require.ElementsMatch(t, exactNames[1:], videoIDs(s.list(t, orgA, setA)))
		}},

	{Rule{"catalog/delete", "DeleteVideo removes a video, and no other."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			v := s.put(t, orgA, setA, video("v", everyKind()), video("w", nil))
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "v"))
			_, err := s.oneVideo(t.Context(), orgA, setA, "v")
			require.ErrorIs(t, err, audiosearch.ErrVideoNotFound)
			require.Equal(t, []string{"w"}, videoIDs(s.list(t, orgA, setA)))
			s.put(t, orgA, setA, video("v", nil))
			s.hasVideo(t, orgA, setA, video(v.ID, nil))
		}},

	{Rule{"catalog/delete-unknown", "DeleteVideo of what the dataset does not have is ErrVideoNotFound, and removes nothing."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			s.makeDataset(t, orgA, setB)
			v := s.put(t, orgA, setA, video("v", nil))
			require.ErrorIs(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "w"), audiosearch.ErrVideoNotFound)
			require.ErrorIs(t, s.Catalog.DeleteVideo(t.Context(), orgA, setB, "v"), audiosearch.ErrVideoNotFound)
			s.hasVideo(t, orgA, setA, v)
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "v"))
			require.ErrorIs(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "v"), audiosearch.ErrVideoNotFound, "the second time")
		}},

	{Rule{"catalog/copies", "What comes in and goes out is the caller's to change."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			want := video("v", everyKind())
			given := cloneVideos([]audiosearch.Video{want})
			require.NoError(t, s.Catalog.PutVideos(t.Context(), orgA, setA, given))
			spoil := func(v *audiosearch.Video) {
				clear(v.Metadata)
				v.Metadata["spoiled"] = metadata.Bool(true)
			}
			spoil(&given[0])
			given[0].Path = "spoiled"
			s.hasVideo(t, orgA, setA, want)
			got, err := s.oneVideo(t.Context(), orgA, setA, "v")
			require.NoError(t, err)
			spoil(&got)
			s.hasVideo(t, orgA, setA, want)
			spoil(&s.list(t, orgA, setA)[0])
			s.hasVideo(t, orgA, setA, want)
		}},
}
