package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// apply provisions datasets. A video that is there stays as it is. What the videos sound
// like is found out by ingestion, once the server listens.
func (a *audioService) apply(ctx context.Context, doc *document, org *organizationDoc) error {
	for _, d := range org.Datasets {
		if err := a.applyDataset(ctx, doc, org.ID, &d); err != nil {
			return err
		}
	}
	return nil
}

func (a *audioService) applyDataset(ctx context.Context, doc *document, org string, d *datasetDoc) error {
	if d.At.lacks("id") {
		return nil
	}
	_, err := a.service.EnsureDataset(ctx, org, provisioning, d.ID)
	if doc.refuse(d.At, err, nil) {
		return nil
	}
	if err == nil {
		err = a.addVideos(ctx, doc, org, d)
	}
	if err != nil {
		return fmt.Errorf("provision the dataset at %s: %w", doc.where(d.At), err)
	}
	a.ingestion.datasets = append(a.ingestion.datasets, datasetName{org, d.ID})
	return nil
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
	var missing []audiosearch.Video
	var places []*node // of the missing ones
	for _, v := range d.Videos {
		wanted := audiosearch.Video{ID: v.ID, Path: string(v.Path), Metadata: v.Metadata.Map}
		if s, ok := stored[v.ID]; !ok && !v.At.isBad() {
			missing, places = append(missing, wanted), append(places, v.At)
		} else if other := otherVideo(s, wanted); ok && other != "" {
			a.log.WarnContext(ctx, "provisioning document: a video is stored with "+other+"; what exists is never changed", "place", doc.where(v.At))
		}
	}
	for some := range slices.Chunk(missing, audiosearch.MaxPageSize) {
		err := a.service.PutVideos(ctx, org, provisioning, d.ID, some...)
		for _, p := range problemsOf(err) { // videos[i].path
			at := places[p.Path[1].Index]
			doc.refuse(at, &audiosearch.ValidationError{Problems: []audiosearch.Problem{{Path: p.Path[2:], Message: p.Message}}}, nil)
			err = nil
		}
		if err != nil {
			return err
		}
		places = places[len(some):]
	}
	return nil
}

// otherVideo names what a video has otherwise than another one.
func otherVideo(stored, wanted audiosearch.Video) string {
	path, metadata := stored.Path != wanted.Path, !maps.Equal(stored.Metadata, wanted.Metadata)
	switch {
	case path && metadata:
		return "another path and other metadata"
	case path:
		return "another path"
	case metadata:
		return "other metadata"
	}
	return ""
}
