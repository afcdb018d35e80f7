package audiosearchtest

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// catalogListRules are the rules of ListVideos, and of what others see of PutVideos.
var catalogListRules = []rule{
	{Rule{"catalog/list-order", "ListVideos returns videos by ID, byte by byte, whole ones."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			for _, i := range scattered(len(orderedNames)) {
				s.put(t, orgA, setA, video(orderedNames[i], everyKind()))
			}
			got := s.list(t, orgA, setA)
			require.Equal(t, orderedNames, videoIDs(got))
			for i := range got {
				sameVideo(t, video(orderedNames[i], everyKind()), got[i])
			}
		}},

	{Rule{"catalog/put-is-whole", "PutVideos stores videos all or none: who lists them sees all of a call's effect or none."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			generation := func(n int) []audiosearch.Video {
				var videos []audiosearch.Video
				for i := range 12 {
					videos = append(videos, video(strconv.Itoa(100+i), metadata.Map{"n": metadata.Int(int64(n))}))
				}
				return videos
			}
			s.put(t, orgA, setA, generation(0)...)
			conformance.Watch(t, 4, func(int) error {
				list, err := s.Catalog.ListVideos(t.Context(), orgA, setA, "", 100)
				if err != nil {
					return err
				}
				page := list.Items
				for _, v := range page {
					if v.Metadata["n"] != page[0].Metadata["n"] {
						return fmt.Errorf("half a call: video %s is of %s, and %s of %s", page[0].ID, page[0].Metadata["n"].Text(), v.ID, v.Metadata["n"].Text())
					}
				}
				return nil
			}, 30, func(n int) {
				s.put(t, orgA, setA, generation(n)...)
			})
		}},

	{Rule{"catalog/put-concurrent", "PutVideos is atomic: of many at once no video is lost, and of those for one video one stays, whole."}, needCatalog,
		func(t *testing.T, s *subject) {
			const workers = 12
			s.makeDataset(t, orgA, setA)
			of := func(i int) audiosearch.Video {
				v := video("shared", metadata.Map{"n": metadata.Int(int64(i)), strconv.Itoa(i): metadata.Bool(true)})
				v.Path = strconv.Itoa(i)
				return v
			}
			var errs [workers]error
			conformance.Together(workers, func(i int) {
				errs[i] = s.Catalog.PutVideos(t.Context(), orgA, setA, []audiosearch.Video{video(strconv.Itoa(100+i), nil), of(i)})
			})
			conformance.NoErrors(t, errs[:])
			require.Len(t, s.list(t, orgA, setA), workers+1)
			got, err := s.oneVideo(t.Context(), orgA, setA, "shared")
			require.NoError(t, err)
			winner, err := strconv.Atoi(got.Path)
			require.NoError(t, err)
			sameVideo(t, of(winner), got)
		}},
}

// missing returns what MissingKeys does.
func (s *subject) missing(t *testing.T, keys ...string) []string {
	t.Helper()
	missing, err := s.Catalog.MissingKeys(t.Context(), orgA, setA, keys)
	require.NoError(t, err)
	return missing
}

// missingKeyRules are the rules of MissingKeys.
var missingKeyRules = []rule{
	{Rule{"catalog/missing-keys", "MissingKeys returns those of the keys that no video of the dataset has, in the order given."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			s.makeDataset(t, orgA, setB)
			s.makeDataset(t, orgB, setA)
			require.Equal(t, []string{"b", "a"}, s.missing(t, "b", "a"))
			require.Empty(t, s.missing(t))
			s.put(t, orgA, setA, video("v", metadata.Map{"a": metadata.Int(1)}), video("w", metadata.Map{"b": metadata.String("")}))
			s.put(t, orgA, setB, video("v", metadata.Map{"c": metadata.Int(1)}))
			s.put(t, orgB, setA, video("v", metadata.Map{"d": metadata.Int(1)}))
			require.Equal(t, []string{"z", "d", "c", "x"}, s.missing(t, "z", "a", "d", "b", "c", "x"))
			require.Empty(t, s.missing(t, "b", "a"))
		}},

	{Rule{"catalog/missing-keys-null", "A key with null counts as had, for MissingKeys."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			s.put(t, orgA, setA, video("v", metadata.Map{"null": {}}))
			require.Equal(t, []string{"none"}, s.missing(t, "null", "none"))
		}},

	{Rule{"catalog/missing-keys-are-exact", "Keys are the same if every byte is, whatever signs they have."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			for i, key := range exactNames {
				require.Equal(t, exactNames[i:], s.missing(t, exactNames...))
				s.put(t, orgA, setA, video(strconv.Itoa(i), metadata.Map{key: metadata.Bool(false)}))
			}
			require.Equal(t, []string{"acm\u00c9", "a\u0301cme"}, s.missing(t, append([]string{"acm\u00c9", "a\u0301cme"}, exactNames...)...))
		}},

	{Rule{"catalog/missing-keys-follow-changes", "MissingKeys goes by the videos as they are now: replaced and deleted ones have their old keys no more."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			with := func(key string) metadata.Map { return metadata.Map{key: metadata.Int(1)} }
			s.put(t, orgA, setA, video("v", with("a")), video("w", with("a")))
			s.put(t, orgA, setA, video("v", with("b")))
			require.Empty(t, s.missing(t, "a", "b"), "w has a still")
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "w"))
			require.Equal(t, []string{"a"}, s.missing(t, "a", "b"))
			s.put(t, orgA, setA, video("v", nil))
			require.Equal(t, []string{"a", "b"}, s.missing(t, "a", "b"))
		}},
}
