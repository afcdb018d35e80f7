package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// demoDataset is the ID of the demo's dataset.
const demoDataset = "sounds"

// provisionDemoSounds makes the demo's sound files, where they are missing, and its
// dataset, as a provisioning document would.
func (a *audioService) provisionDemoSounds(ctx context.Context) error {
	d := &datasetDoc{ID: demoDataset}
	for _, s := range demoSounds() {
		path := s.id + ".wav"
		if err := s.write(filepath.Join(a.files.dir, path)); err != nil {
			return fmt.Errorf("make the demo's sounds: %w", err)
		}
		d.Videos = append(d.Videos, videoDoc{ID: s.id, Path: mediaPath(path), Metadata: scalars{metadata.Map{
			"place": metadata.String(s.place), "floor": metadata.Int(s.floor),
		}}})
	}
	doc := &document{file: "the built-in demo"}
	if err := a.applyDataset(ctx, doc, demoOrganization, d); err != nil {
		return err
	}
	return doc.err()
}

// write makes the file, unless there is one. It is there with all that belongs into it,
// or not at all.
func (s *demoSound) write(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var b bytes.Buffer
	if err := wav.Encode(&b, demoRate, s.samples()); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return err
	}
	_, err = part.Write(b.Bytes())
	err = errors.Join(err, part.Close())
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}
