package wav

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteFile writes what [Encode] writes to a file of mode 0600. The file appears under its
// name in one step, as a whole, and replaces one that is there. A process that dies while it
// writes leaves a file whose name ends in .part. Nothing is synced, so a power cut may leave
// less.
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
