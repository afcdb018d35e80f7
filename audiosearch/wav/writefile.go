package wav

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteFile writes what Encode does to a file, for its owner alone. The file appears under
// its name in one step, with all that belongs into it, in the place of one that is there.
// A process that dies while it writes leaves one whose name ends with .part.
func WriteFile(path string, rate int, samples []float32) error {
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	if err = errors.Join(Encode(part, rate, samples), part.Close()); err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}
