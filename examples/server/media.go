package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/audiosearch/folder"
)

// mediaFolder is the folder that the paths of videos are relative to.
type mediaFolder struct {
	*folder.Folder
	dir       string
	temporary bool
}

// demoMedia is the name of the folder of the demo's sounds, in the data folder.
const demoMedia = "demo-media"

// openMedia opens the folder of the provisioning document, or one of the demo's own,
// which is in the data folder, or ends with the process if everything else does.
func openMedia(s *settings) (*mediaFolder, error) {
	m := &mediaFolder{dir: filepath.Dir(s.config)}
	var err error
	switch {
	case s.config != "":
	case s.memory:
		m.temporary = true
		m.dir, err = os.MkdirTemp("", "mortise-demo-")
	default:
		m.dir = filepath.Join(s.data, demoMedia)
		if err = os.Mkdir(m.dir, 0o700); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder for the demo's sounds: %w", err)
	}
	if m.Folder, err = folder.Open(m.dir); err != nil && s.config != "" {
		return nil, usagef("-config: %w", err)
	}
	return m, err
}

func (m *mediaFolder) close() error {
	err := m.Folder.Close()
	if m.temporary {
		err = errors.Join(err, os.RemoveAll(m.dir))
	}
	return err
}
