package main

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

type datasetDoc struct {
	id     string
	videos []videoDoc
	place  string // as in apiKeyDoc
}

type videoDoc struct {
	audiosearch.Video
	place string
}

// readDatasets reads what the audio search holds of an organization.
func readDatasets(o docObject, org *organizationDoc) {
	ids := o.r.unique()
	for d := range o.objects("datasets", "id", "videos") {
		dataset := datasetDoc{id: d.name("id"), place: d.where()}
		ids.add(d, "id", dataset.id)
		videos := d.r.unique()
		for v := range d.objects("videos", "id", "path", "metadata") {
			video := audiosearch.Video{ID: v.name("id"), Path: v.mediaPath("path"), Metadata: v.metadata("metadata")}
			videos.add(v, "id", video.ID)
			dataset.videos = append(dataset.videos, videoDoc{video, v.where()})
		}
		org.datasets = append(org.datasets, dataset)
	}
}

// maxMediaPath bounds the path of a video, in bytes, as package audiosearch does.
const maxMediaPath = 4096

// mediaPath reads the path of a file in the document's folder. Where links lead to is seen when the file is opened.
func (o docObject) mediaPath(key string) string {
	path, ok := o.text(key, true)
	switch {
	case !ok:
	case !filepath.IsLocal(filepath.FromSlash(path)):
		o.fail(key, "must be relative and stay in the document's folder")
	case len(path) > maxMediaPath:
		o.fail(key, "must be at most %d bytes long", maxMediaPath)
	}
	return path
}

// metadata reads an optional object of scalars. Numbers stay as they are written.
func (o docObject) metadata(key string) metadata.Map {
	object, ok := o.has(key, false, strictjson.Object, "an object")
	if !ok {
		return nil
	}
	at := o.member(key)
	before, keys := len(o.r.problems), 0
	for k, v := range object.Members() {
		keys++
		if name := k.Text(); name == "" || strings.ContainsRune(name, 0) {
			o.r.fail(k, "%s: a key must not be empty or contain U+0000", at.path)
		} else if kind := v.Kind(); kind == strictjson.Object || kind == strictjson.Array {
			o.r.fail(v, "%s: the value of%s must be a string, a number, true, false or null", at.path, cmp.Or(harmless(name), " this key"))
		}
	}
	const perKey = 2 // bytes that package audiosearch counts for a key and a number beyond those that are written
	if keys > metadata.MaxKeys || len(object.Raw())+perKey*keys > metadata.MaxBytes {
		o.fail(key, "must have at most %d keys and %d bytes", metadata.MaxKeys, metadata.MaxBytes)
	}
	if len(o.r.problems) > before {
		return nil
	}
	m, err := metadata.Parse(object.Raw())
	if err != nil {
		o.fail(key, "%v", err)
	}
	return m
}
