//go:build cgo

package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// loaded is the library of the process.
var loaded struct {
	sync.Mutex
	done    bool
	library Library
	file    os.FileInfo // of library.Path, nil if it is not known
}

// Find loads ONNX Runtime's library, as [New] does for an [Options].Library, and returns
// which one it is. If the process has loaded one already, it is that one; to ask for another
// is an error. After an error it can be tried again.
func Find(library string) (Library, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if !loaded.done && ort.IsInitialized() { // by another package of the program
		loaded.library, loaded.done = Library{Version: ort.GetVersion()}, true
	}
	if loaded.done {
		return loaded.library, sameLibrary(library)
	}
	if library == "" {
		library = os.Getenv(Environment)
	}
	if library != "" {
		path, err := filepath.Abs(library) // a bare name would be looked for in the system's folders
		if err == nil {
			err = load(path)
		}
		if err != nil {
			return Library{}, fmt.Errorf("onnx: the library %s cannot be used: %w; %s", library, err, install)
		}
		return loaded.library, nil
	}
	p := here()
	var failures []error
	for _, path := range p.candidates() {
		err := load(path)
		if err == nil {
			return loaded.library, nil
		}
		failures = append(failures, err)
	}
	for _, name := range libraryNames(p.goos) {
		if !strings.Contains(name, "*") && initialize(name) == nil {
			return loaded.library, nil
		}
	}
	return Library{}, notFound(p, failures)
}

// sameLibrary returns an error if a file is not the library that is loaded.
func sameLibrary(path string) error {
	if path == "" || path == loaded.library.Path {
		return nil
	}
	if loaded.library.Path == "" {
		return errors.New("onnx: another package of this program has loaded ONNX Runtime, so that Options.Library cannot choose one: leave it empty")
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("onnx: the library cannot be used: %w", err)
	}
	if loaded.file != nil && os.SameFile(info, loaded.file) {
		return nil
	}
	return fmt.Errorf("onnx: this process has loaded %s, and cannot load %s besides: use one library in the whole program",
		loaded.library.Path, path)
}

// load loads a file, if it is a library.
func load(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := checkLibrary(path); err != nil {
		return err
	}
	if err := initialize(path); err != nil {
		return err
	}
	loaded.file = info
	return nil
}

// initialize loads a library by its path or name.
func initialize(path string) error {
	ort.SetSharedLibraryPath(path)
	if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
		err = tidy(err)
		// The library lacks the interface of this version.
		if strings.Contains(err.Error(), "Error setting ORT API base: 2") {
			return fmt.Errorf("%s is an ONNX Runtime that is too old", path)
		}
		return err
	}
	_ = ort.DisableTelemetry() // has never failed, and there is none but on Windows
	loaded.library, loaded.done = Library{path, ort.GetVersion()}, true
	return nil
}
