package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// applyDocument provisions datasets. A video that is there stays as it is. What the
// videos sound like is found out by ingestion, once the server listens.
func (a *audioService) applyDocument(ctx context.Context, doc *document) error {
	for _, org := range doc.organizations {
		for _, d := range org.datasets {
			err := a.applyDataset(ctx, doc, org.id, &d)
			if errors.Is(err, audiosearch.ErrDeleted) {
				doc.noteDeleted(org.id, "")
				break
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *audioService) applyDataset(ctx context.Context, doc *document, org string, d *datasetDoc) error {
	_, err := a.service.EnsureDataset(ctx, org, provisioning, d.id)
	if err == nil {
		err = a.addVideos(ctx, org, d)
	}
	var invalid audiosearch.Problem
	switch {
	case errors.As(err, &invalid):
		return doc.contradiction(d.place, invalid.Error())
	case err != nil:
		return fmt.Errorf("provision the dataset at %s: %w", d.place, err)
	}
	a.ingestion.datasets = append(a.ingestion.datasets, datasetName{org, d.id})
	return nil
}

// addVideos stores the videos that are missing, and warns of those that are something
// else than the document says.
func (a *audioService) addVideos(ctx context.Context, org string, d *datasetDoc) error {
	stored := make(map[string]audiosearch.Video)
	for v, err := range a.service.Videos(ctx, org, d.id) {
		if err != nil {
			return err
		}
		stored[v.ID] = v
	}
	var missing []audiosearch.Video
	for _, v := range d.videos {
		if s, ok := stored[v.ID]; !ok {
			missing = append(missing, v.Video)
		} else if other := otherVideo(s, v.Video); other != "" {
			a.log.WarnContext(ctx, "provisioning document: a video is stored with "+other+"; what exists is never changed", "place", v.place)
		}
	}
	for some := range slices.Chunk(missing, audiosearch.MaxPageSize) {
		if err := a.service.PutVideos(ctx, org, provisioning, d.id, some...); err != nil {
			return err
		}
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
