package provision

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// applyDatasets provisions datasets. A video that is there stays as it is. What the
// videos sound like is not looked at.
func (s *Services) applyDatasets(ctx context.Context, doc *Document, org *organizationDoc) error {
	return eachOf(doc, "dataset", org.Datasets, func(d *datasetDoc) error {
		_, err := s.AudioSearch.EnsureDataset(ctx, org.ID, Actor, d.ID)
		if err == nil {
			err = s.addVideos(ctx, doc, org.ID, d)
		}
		if err == nil && !doc.rehearsing {
			doc.datasets = append(doc.datasets, Dataset{org.ID, d.ID})
		}
		return err
	}, "id")
}

// addVideos stores the videos that are missing, and warns of those that are something
// else than the document says.
func (s *Services) addVideos(ctx context.Context, doc *Document, org string, d *datasetDoc) error {
	stored := make(map[string]audiosearch.Video)
	for v, err := range s.AudioSearch.Videos(ctx, org, d.ID) {
		if err != nil {
			return err
		}
		stored[v.ID] = v
	}
	var missing []*videoDoc
	err := eachOf(doc, "video", d.Videos, func(v *videoDoc) error {
		if is, ok := stored[v.ID]; ok {
			doc.warnOfOther("a video", v.place,
				"another path", is.Path != string(v.Path), "other metadata", !maps.Equal(is.Metadata, v.Metadata))
		} else {
			missing = append(missing, v)
		}
		return nil
	})
	for some := range slices.Chunk(missing, mortise.MaxPageSize) {
		videos := make([]audiosearch.Video, len(some))
		for i, v := range some {
			videos[i] = audiosearch.Video{ID: v.ID, Path: string(v.Path), Metadata: v.Metadata}
		}
		if err == nil {
			err = s.AudioSearch.PutVideos(ctx, org, Actor, d.ID, videos...)
		}
		for _, p := range problemsOf(err) { // videos[i].path
			doc.fail(doc.nearest(some[p.Path[1].Index].in(p.Path[2:].String())), "%s", p.Message)
			err = nil
		}
	}
	return err
}
