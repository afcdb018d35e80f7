package ffmpeg

import (
	"os"
	"sync"
)

// headers keeps the headers of the files that were read last: a caller who asks for the
// keyframes of a file asks for its sound next.
type headers struct {
	mu   sync.Mutex
	kept []keptHeader // the oldest one first
}

type keptHeader struct {
	file   os.FileInfo
	header *header // for reading only
}

const maxHeaders = 64

// of returns the header of a file, or nil.
func (k *headers) of(file os.FileInfo) *header {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, known := range k.kept {
		if os.SameFile(file, known.file) && file.Size() == known.file.Size() &&
			file.ModTime().Equal(known.file.ModTime()) && changedAt(file) == changedAt(known.file) {
			return known.header
		}
	}
	return nil
}

func (k *headers) keep(file os.FileInfo, h *header) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.kept) == maxHeaders {
		k.kept = append(k.kept[:0], k.kept[1:]...)
	}
	k.kept = append(k.kept, keptHeader{file, h})
}
