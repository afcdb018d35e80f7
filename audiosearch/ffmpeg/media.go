package ffmpeg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// ErrNotInstalled: one of the programs is missing.
var ErrNotInstalled = errors.New("ffmpeg is missing here: install ffmpeg (Debian: apt-get install ffmpeg), or convert the file to WAV")

// Options say where the programs are, and how long they may work. Nil means all defaults.
type Options struct {
	FFmpeg  string // path; "": looked up in PATH when it is needed
	FFprobe string // path; "": looked up in PATH when it is needed

	// Timeout bounds the work of the programs for one call of Probe or PCM: 1 hour. The
	// time that the caller takes for a block does not count.
	Timeout time.Duration
}

// Media implements [sound.Media] by ffmpeg and ffprobe, for files of at most 24 hours, and
// 16 GiB of decoded sound. A longer one is an error, but no [sound.BadMedia]: it may be
// right. More than 100,000 keyframes are thinned out evenly.
type Media struct {
	opts         Options
	maxBytes     int64         // of what is decoded, 4 bytes a sample
	maxDuration  time.Duration // of the file, and of what is decoded
	maxKeyframes int           // of a file; if there are more, they are thinned out evenly
	unlimited    bool          // for tests, whose programs write files

	headers headers

	mu        sync.Mutex
	resampler string // the name of ffmpeg's best one; "": not asked yet
}

var _ sound.Media = (*Media)(nil)

// New returns a Media. The programs need not be there yet: a file is [ErrNotInstalled]
// while they are not.
func New(options *Options) (*Media, error) {
	m := &Media{maxBytes: 16 << 30, maxDuration: 24 * time.Hour, maxKeyframes: 100_000}
	if options != nil {
		m.opts = *options
	}
	o := &m.opts
	if o.Timeout < 0 {
		return nil, errors.New("ffmpeg: Timeout must not be negative; 0 means the default")
	}
	if o.Timeout == 0 {
		o.Timeout = time.Hour
	}
	return m, nil
}

// version changes with everything that changes samples, times, keyframes or the choice of
// tracks.
const version = 2

// ID implements [sound.Media]. It does not depend on the version of ffmpeg.
func (m *Media) ID() string {
	return fmt.Sprintf("ffmpeg/%d average, %d keyframes", version, m.maxKeyframes)
}

// Probe implements [sound.Media]. It reads all packets of a file with video, since only
// few kinds of files list their keyframes: that takes about as long as to copy the
// file.
func (m *Media) Probe(ctx context.Context, path string) (sound.Info, error) {
	j, err := m.open(ctx, path)
	if err != nil {
		return sound.Info{}, err
	}
	defer j.close()
	h, err := j.header()
	if err != nil {
		return sound.Info{}, err
	}
	info := sound.Info{Duration: h.duration, Estimated: h.guessed, Start: h.clock(), HasVideo: h.video >= 0}
	if info.HasVideo {
		info.Keyframes, err = j.keyframes(h)
	}
	if err != nil {
		return sound.Info{}, err
	}
	return info, nil
}

// clock is the file's clock at its start.
func (h *header) clock() time.Duration {
	if at := seconds(h.start); at >= minStart {
		return at
	}
	return 0
}

// job is the work on one file.
type job struct {
	*Media
	ctx  context.Context
	file *os.File
	stat os.FileInfo
	left time.Duration // of Options.Timeout
}

// open opens a file, which is what all programs of the job will see.
func (m *Media) open(ctx context.Context, path string) (*job, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The flag keeps the opening of a named pipe from waiting for a writer. Reading a
	// regular file is as without it.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, openError(err)
	}
	stat, err := file.Stat()
	switch {
	case err != nil:
		err = openError(err)
	case !stat.Mode().IsRegular():
		err = errors.New("this is no file but a folder, a pipe or a device: name a file")
	case stat.Size() == 0:
		err = sound.BadMedia(errors.New("the file is empty: record it or copy it again"))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &job{Media: m, ctx: ctx, file: file, stat: stat, left: m.opts.Timeout}, nil
}

func (j *job) close() { j.file.Close() }

// openError says why a file could not be opened, without its path.
func openError(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no such file: put it there, or correct the path (%w)", fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the file may not be read: give this program the right to (%w)", fs.ErrPermission)
	case errors.As(err, &path):
		err = path.Err
	}
	return fmt.Errorf("ffmpeg: opening the file: %w", err)
}

// program returns the path of a program: that of the options, or the one in PATH.
func program(path, name string) (string, error) {
	if path == "" {
		path = name
	}
	found, err := exec.LookPath(path)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return "", ErrNotInstalled
	}
	return found, nil
}

func (m *Media) ffmpeg() (string, error)  { return program(m.opts.FFmpeg, "ffmpeg") }
func (m *Media) ffprobe() (string, error) { return program(m.opts.FFprobe, "ffprobe") }

// containers are the demuxers that are allowed: of files that hold their sound
// themselves, and of nothing that names other files.
var containers = strings.Join([]string{
	"mov", "mp4", "m4a", "3gp", "3g2", "mj2", "matroska", "webm", "avi", "mpegts", "mpeg", "flv", "asf", "ogg", "mxf", "nut", "rm", "wtv", "dv", "gxf",
	"wav", "w64", "aiff", "au", "caf", "flac", "mp3", "aac", "ac3", "eac3", "dts", "amr", "wv", "ape", "tta", "tak", "mpc", "mpc8", "dsf", "voc", "gsm",
}, ",")
