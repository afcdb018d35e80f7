package audiosearch

import (
	"context"
	"errors"
	"iter"
)

// FirstMedia returns a Media that asks the given ones in turn: each file is read by the first one that does not answer [ErrFormat]. Put the
// pickiest first.
func FirstMedia(media ...Media) Media { return firstMedia(media) }

type firstMedia []Media

// errNoFormat is the answer if nothing reads the file, and nothing says more. It is no [BadMedia]: the next program may bring a Media that does.
var errNoFormat = &markedError{errors.New("this kind of file is not supported here: convert it, to WAV for example"), ErrFormat}

func (f firstMedia) Probe(ctx context.Context, path string) (Info, error) {
	refusal := error(errNoFormat)
	for _, m := range f {
		info, err := m.Probe(ctx, path)
		if !errors.Is(err, ErrFormat) {
			return info, err
		}
		refusal = err
	}
	return Info{}, refusal // the last one's, which is the least picky
}

func (f firstMedia) PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		refusal := error(errNoFormat)
		for _, m := range f {
			refused, begun := false, false
			for block, err := range m.PCM(ctx, path, rate) {
				if errors.Is(err, ErrFormat) && !begun { // after that, another one would begin at the start again
					refused, refusal = true, err
					break
				}
				begun = true
				if !yield(block, err) {
					return
				}
			}
			if !refused {
				return
			}
		}
		yield(nil, refusal)
	}
}
