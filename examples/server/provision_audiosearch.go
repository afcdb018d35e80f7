package main

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// apply provisions datasets. A video that is there stays as it is. What the videos sound
// like is found out by ingestion, once the server listens.
func (a *audioService) apply(ctx context.Context, doc *document, org *organizationDoc) error {
	return eachOf(doc, "dataset", org.Datasets, func(d *datasetDoc) error {
		_, err := a.service.EnsureDataset(ctx, org.ID, provisioning, d.ID)
		if err == nil {
			err = a.addVideos(ctx, doc, org.ID, d)
		}
		if err == nil {
			a.ingestion.datasets = append(a.ingestion.datasets, datasetName{org.ID, d.ID})
		}
		return err
	}, "id")
}

// addVideos stores the videos that are missing, and warns of those that are something
// else than the document says.
func (a *audioService) addVideos(ctx context.Context, doc *document, org string, d *datasetDoc) error {
	stored := make(map[string]audiosearch.Video)
	for v, err := range a.service.Videos(ctx, org, d.ID) {
		if err != nil {
			return err
		}
		stored[v.ID] = v
	}
	var missing []*videoDoc
	err := eachOf(doc, "video", d.Videos, func(v *videoDoc) error {
		if s, ok := stored[v.ID]; ok {
			doc.warnOfOther(a.log, "a video", v.place, "another path", s.Path != string(v.Path), "other metadata", !maps.Equal(s.Metadata, v.Metadata))
		} else {
			missing = append(missing, v)
		}
		return nil
	})
	for some := range slices.Chunk(missing, audiosearch.MaxPageSize) {
		videos := make([]audiosearch.Video, len(some))
		for i, v := range some {
			videos[i] = audiosearch.Video{ID: v.ID, Path: string(v.Path), Metadata: v.Metadata}
		}
		if err == nil {
			err = a.service.PutVideos(ctx, org, provisioning, d.ID, videos...)
		}
		for _, p := range problemsOf(err) { // videos[i].path
			doc.fail(doc.nearest(some[p.Path[1].Index].in(p.Path[2:].String())), "%s", p.Message)
			err = nil
		}
	}
	return err
}
