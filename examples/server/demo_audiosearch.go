package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// makeDemoSounds makes the demo's sound files, where they are missing.
func makeDemoSounds(dir string) error {
	for _, s := range demoSounds() {
		if err := s.write(filepath.Join(dir, s.file)); err != nil {
			return fmt.Errorf("make the demo's sounds: %w", err)
		}
	}
	return nil
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
