package wav

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"syscall"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// The longest sound and the largest file that Media reads.
const (
	maxDuration       = 24 * time.Hour // of the sound
	maxBytes    int64 = 64 << 30       // of a file
)

// Media implements [sound.Media] for WAV files, of at most 64 GiB and 24 hours. A longer one
// is an error, but no [sound.BadMedia]: it may be right. The zero value is ready.
type Media struct{}

var _ sound.Media = Media{}

// version changes with everything that changes samples or times.
const version = 2

// ID implements [sound.Media].
func (m Media) ID() string { return fmt.Sprintf("wav/%d average", version) }

// Probe implements [sound.Media]. It reads the header alone. The duration is that of
// the samples that are in the file.
func (m Media) Probe(ctx context.Context, path string) (sound.Info, error) {
	if err := ctx.Err(); err != nil {
		return sound.Info{}, err
	}
	file, track, err := m.open(path)
	if err != nil {
		return sound.Info{}, err
	}
	defer file.Close()
	return sound.Info{Duration: track.duration()}, nil
}

// blockSamples is how many samples are decoded at a time: enough to make a read cheap,
// few enough to stay in the cache of a processor.
const blockSamples = 8192

// PCM implements [sound.Media]. The rate is 1000 to 768000 Hz.
func (m Media) PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		if rate < minOutRate || rate > maxRate {
			yield(nil, fmt.Errorf("wav: the rate must be %d to %d Hz, not %d", minOutRate, maxRate, rate))
			return
		}
		file, track, err := m.open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		if err := stream(ctx, file, track, rate, yield); err != nil {
			yield(nil, err)
		}
	}
}

// stream yields the sound. It returns nil once yield has asked for the end.
func stream(ctx context.Context, file io.ReaderAt, s *track, rate int, yield func([]float32, error) bool) error {
	resampler := newResampler(s.rate, rate)
	size := int64(s.frameBytes())
	raw := make([]byte, size*max(blockSamples/int64(s.channels), 1))
	var mono, block []float32
	for read := int64(0); read < s.frames; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := readAt(file, raw[:min(int64(len(raw)), (s.frames-read)*size)], s.offset+read*size)
		if err != nil {
			return err
		}
		frames := int64(n) / size
		if frames == 0 {
			break // it was cut since it was opened
		}
		read += frames
		mono = s.means(mono[:0], raw[:frames*size])
		block = resampler.process(block[:0], mono)
		clip(block)
		if len(block) > 0 && !yield(block, nil) {
			return nil
		}
	}
	if resampler.in == 0 {
		return errNoSound
	}
	block = resampler.flush(block[:0])
	clip(block)
	if len(block) > 0 && !yield(block, nil) {
		return nil
	}
	return s.incomplete()
}

// open opens a file and finds the sound in it.
func (m Media) open(path string) (*os.File, *track, error) {
	// The flag keeps the opening of a named pipe from waiting for a writer. Reading a
	// regular file is as without it.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, openError(err)
	}
	track, err := m.inspect(file)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, track, nil
}

func (m Media) inspect(file *os.File) (*track, error) {
	stat, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("wav: looking at the file: %w", withoutPath(err))
	case !stat.Mode().IsRegular():
		return nil, errors.New("this is no file but a folder, a pipe or a device: name a file")
	}
	track, err := parse(file, stat.Size())
	switch {
	case err != nil:
		return nil, err
	case stat.Size() > maxBytes:
		return nil, fmt.Errorf("the file is larger than %d bytes, which is the limit here: cut it into shorter ones", maxBytes)
	case track.duration() > maxDuration:
		return nil, fmt.Errorf("the sound is longer than %v, which is the limit here: cut it into shorter files", maxDuration)
	}
	return track, nil
}

// openError says why a file could not be opened, without its path.
func openError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no such file: put it there, or correct the path (%w)", fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the file may not be read: give this program the right to (%w)", fs.ErrPermission)
	}
	return fmt.Errorf("wav: opening the file: %w", withoutPath(err))
}

// withoutPath removes the path from an error of package os.
func withoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
