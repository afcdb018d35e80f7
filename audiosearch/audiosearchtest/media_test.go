package audiosearchtest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

func openMedia(*testing.T) sound.Media { return wav.Media{} }

// brokenMedia is package wav's with a mistake.
type brokenMedia struct {
	sound.Media
	id    func(id string) string
	probe func(m sound.Media, ctx context.Context, path string) (sound.Info, error)
	pcm   func(m sound.Media, ctx context.Context, path string, rate int, yield func([]float32, error) bool)
}

func (b *brokenMedia) ID() string {
	if b.id != nil {
		return b.id(b.Media.ID())
	}
	return b.Media.ID()
}

func (b *brokenMedia) Probe(ctx context.Context, path string) (sound.Info, error) {
	if b.probe != nil {
		return b.probe(b.Media, ctx, path)
	}
	return b.Media.Probe(ctx, path)
}

func (b *brokenMedia) PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	if b.pcm == nil {
		return b.Media.PCM(ctx, path, rate)
	}
	return func(yield func([]float32, error) bool) { b.pcm(b.Media, ctx, path, rate, yield) }
}

// everyBlock makes a media whose every block is changed.
func everyBlock(change func(block []float32) []float32) *brokenMedia {
	return &brokenMedia{pcm: func(m sound.Media, ctx context.Context, path string, rate int, yield func([]float32, error) bool) {
		for block, err := range m.PCM(ctx, path, rate) {
			if err == nil {
				block = change(block)
			}
			if !yield(block, err) {
				return
			}
		}
	}}
}

// everyError makes a media whose every error is changed.
func everyError(change func(path string, err error) error) *brokenMedia {
	return &brokenMedia{
		probe: func(m sound.Media, ctx context.Context, path string) (sound.Info, error) {
			info, err := m.Probe(ctx, path)
			if err != nil {
				err = change(path, err)
			}
			return info, err
		},
		pcm: func(m sound.Media, ctx context.Context, path string, rate int, yield func([]float32, error) bool) {
			for block, err := range m.PCM(ctx, path, rate) {
				if err != nil {
					err = change(path, err)
				}
				if !yield(block, err) {
					return
				}
			}
		},
	}
}

// whole reads a whole file.
func whole(m sound.Media, ctx context.Context, path string, rate int) (all []float32, err error) {
	for block, failed := range m.PCM(ctx, path, rate) {
		all, err = append(all, block...), failed
	}
	return all, err
}

type mediaMutant struct {
	name   string
	breaks string // ids of rules
	make   func() *brokenMedia
}

var mediaMutants = []mediaMutant{
	{"has another ID each time", "media/id", func() *brokenMedia {
		var n atomic.Int64
		return &brokenMedia{id: func(id string) string { return id + strconv.FormatInt(n.Add(1), 10) }}
	}},
	{"has a long ID", "media/id", func() *brokenMedia {
		return &brokenMedia{id: func(id string) string { return strings.Repeat(id, 256) }}
	}},
	{"loses the last sample of a block", "media/samples media/blocks", func() *brokenMedia {
		return everyBlock(func(block []float32) []float32 { return block[:len(block)-1] })
	}},
	{"adds channels up", "media/average-of-channels media/samples", func() *brokenMedia {
		return everyBlock(func(block []float32) []float32 {
			for i := range block {
				block[i] *= 2
			}
			return block
		})
	}},
	{"takes any rate for the one that is asked for", "media/resamples", func() *brokenMedia {
		return &brokenMedia{pcm: func(m sound.Media, ctx context.Context, path string, _ int, yield func([]float32, error) bool) {
			head := make([]byte, 28)
			if f, err := os.Open(path); err == nil {
				_, _ = f.Read(head)
				_ = f.Close()
			}
			for block, err := range m.PCM(ctx, path, max(1000, int(head[24])|int(head[25])<<8)) {
				if !yield(block, err) {
					return
				}
			}
		}}
	}},
	{"has one reader", "media/again", func() *brokenMedia {
		var reading atomic.Int64
		return &brokenMedia{pcm: func(m sound.Media, ctx context.Context, path string, rate int, yield func([]float32, error) bool) {
			defer reading.Add(-1)
			if reading.Add(1) > 1 {
				yield(nil, errors.New("busy"))
				return
			}
			conformance.Seam()
			for block, err := range m.PCM(ctx, path, rate) {
				if !yield(block, err) {
					return
				}
			}
		}}
	}},
	{"takes a sound for a video", "media/probe", func() *brokenMedia {
		return &brokenMedia{probe: func(m sound.Media, ctx context.Context, path string) (sound.Info, error) {
			info, err := m.Probe(ctx, path)
			info.Keyframes = []time.Duration{0}
			return info, err
		}}
	}},
	{"is over after an early end", "media/early-end", func() *brokenMedia {
		var over atomic.Bool
		return &brokenMedia{pcm: func(m sound.Media, ctx context.Context, path string, rate int, yield func([]float32, error) bool) {
			for block, err := range m.PCM(ctx, path, rate) {
				if over.Load() || !yield(block, err) {
					over.Store(true)
					return
				}
			}
		}}
	}},
	{"does not look at the context", "media/ended-context", func() *brokenMedia {
		return &brokenMedia{pcm: func(m sound.Media, _ context.Context, path string, rate int, yield func([]float32, error) bool) {
			for block, err := range m.PCM(context.Background(), path, rate) {
				if !yield(block, err) {
					return
				}
			}
		}}
	}},
	{"blames the file for everything", "media/ended-context", func() *brokenMedia {
		return everyError(func(_ string, err error) error { return sound.BadMedia(err) })
	}},
	{"blames nobody", "media/broken-files media/no-sound", func() *brokenMedia {
		return everyError(func(_ string, err error) error { return errors.New(err.Error()) })
	}},
	{"says where the file is", "media/broken-files media/no-file", func() *brokenMedia {
		return everyError(func(path string, err error) error { return fmt.Errorf("%s: %w", path, err) })
	}},
	{"takes no sound for silence", "media/no-sound", func() *brokenMedia {
		return &brokenMedia{pcm: func(m sound.Media, ctx context.Context, path string, rate int, yield func([]float32, error) bool) {
			all, err := whole(m, ctx, path, rate)
			if errors.Is(err, sound.ErrBadMedia) && len(all) == 0 {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			yield(all, nil)
		}}
	}},
	{"fills up what was cut off", "media/cut", func() *brokenMedia {
		return &brokenMedia{pcm: func(m sound.Media, ctx context.Context, path string, rate int, yield func([]float32, error) bool) {
			all, err := whole(m, ctx, path, rate)
			if len(all) > 0 && len(all) < 20_000 {
				all = slices.Concat(all, make([]float32, 20_000-len(all)))
			}
			if len(all) == 0 || yield(all, nil) {
				if err != nil {
					yield(nil, err)
				}
			}
		}}
	}},
	{"finds nothing in a folder", "media/no-file", func() *brokenMedia {
		return &brokenMedia{pcm: func(m sound.Media, ctx context.Context, path string, rate int, yield func([]float32, error) bool) {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				return
			}
			for block, err := range m.PCM(ctx, path, rate) {
				if !yield(block, err) {
					return
				}
			}
		}}
	}},
	{"reads everything at once", "media/blocks", func() *brokenMedia {
		return &brokenMedia{pcm: func(m sound.Media, ctx context.Context, path string, rate int, yield func([]float32, error) bool) {
			all, err := whole(m, ctx, path, rate)
			if err != nil {
				yield(nil, err)
				return
			}
			yield(all, nil)
		}}
	}},
}

// TestMediaSuite proves the suite of media, and with it package wav.
func TestMediaSuite(t *testing.T) {
	p := &conformance.Proof[func(*testing.T) sound.Media]{Run: audiosearchtest.RunMedia, Faithful: openMedia}
	for _, m := range mediaMutants {
		p.Add(m.name, func(t *testing.T) sound.Media {
			b := m.make()
			b.Media = openMedia(t)
			return b
		}, strings.Fields(m.breaks)...)
	}
	conformance.Prove(t, p)
}
