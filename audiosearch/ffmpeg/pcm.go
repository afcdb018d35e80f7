package ffmpeg

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

const (
	minRate, maxRate = 1000, 768_000
	blockSamples     = 16384
)

// PCM implements [sound.Media]. The rate is 1000 to 768000 Hz.
func (m *Media) PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		if rate < minRate || rate > maxRate {
			yield(nil, fmt.Errorf("ffmpeg: the rate must be %d to %d Hz, not %d", minRate, maxRate, rate))
			return
		}
		j, err := m.open(ctx, path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer j.close()
		if err := j.decode(rate, yield); err != nil {
			yield(nil, err)
		}
	}
}

// decode yields the sound. It returns nil once yield has asked for the end.
func (j *job) decode(rate int, yield func([]float32, error) bool) error {
	h, err := j.header()
	if err != nil {
		return err
	}
	s := &decoding{yield: yield, rate: rate, maxSamples: min(j.maxBytes/4, samples(j.maxDuration, rate))}
	for i := range h.sounds {
		// That a codec has no decoder here, ffmpeg alone says.
		t := &h.sounds[i]
		err = j.track(h, t, s)
		switch {
		case errors.Is(err, errNoCodec) && !s.any:
			continue
		case err != nil || s.stopped:
			return err
		case !s.any:
			return errNoSound
		}
		return checkEnd(t.end, time.Duration(float64(s.count)/float64(rate)*1e9))
	}
	return err
}

// track decodes a track to its end, or until the caller wants no more.
func (j *job) track(h *header, t *track, s *decoding) error {
	begin, err := j.beginning(h, t)
	if err != nil {
		return err
	}
	if begin > j.maxDuration {
		return j.tooLong()
	}
	p, err := j.startDecoder(h, t, s.rate)
	if err != nil {
		return err
	}
	defer p.stop()
	if err := s.copy(p, samples(begin, s.rate)); err != nil {
		return s.result(err)
	}
	return p.wait()
}

// checkEnd returns an error if the sound ended long before the file says, which is how
// most kinds of files look that were cut. Encoders are inexact by some hundredths of a
// second.
func checkEnd(end, got time.Duration) error {
	if end-got < time.Second/2+end/1000 {
		return nil
	}
	return sound.Incomplete(fmt.Errorf("its sound ends at %v, and the file says %v: if it was cut or damaged, copy it again, completely",
		got.Round(time.Millisecond), end.Round(time.Millisecond)))
}

// startDecoder starts ffmpeg, which writes mono samples as 32-bit floats.
func (j *job) startDecoder(h *header, t *track, rate int) (*process, error) {
	path, err := j.ffmpeg()
	if err != nil {
		return nil, err
	}
	resampler, err := j.bestResampler(path)
	if err != nil {
		return nil, err
	}
	args, err := j.decoder(h)
	if err != nil {
		return nil, err
	}
	return j.start(path, append(args, "-map", stream(t.stream), "-vn", "-sn", "-dn", "-filter_threads", "1", "-af", filters(t, rate, resampler),
		"-c:a", "pcm_f32le", "-f", "f32le", "pipe:1")...)
}

// filters returns ffmpeg's filters from the channels to mono at a rate.
func filters(t *track, rate int, resampler string) string {
	// Floats first: to average integers would round once more. The layout is named so
	// that a track which changes it on the way goes on.
	format := "aformat=sample_fmts=fltp"
	if t.layout != "" && strings.Trim(t.layout, "abcdefghijklmnopqrstuvwxyz0123456789.()") == "" {
		format += ":channel_layouts=" + t.layout
	}
	chain := []string{format, "asetpts='" + fmt.Sprintf(goOn, "PTS", "NB_SAMPLES/SR/TB") + "PTS+ld(0)'"}
	if t.channels > 1 {
		// ffmpeg's own way to mono (-ac 1) weighs the channels, and can be louder than
		// the average.
		weight := strconv.FormatFloat(1/float64(t.channels), 'f', 17, 64)
		terms := make([]string, t.channels)
		for i := range terms {
			terms[i] = weight + "*c" + strconv.Itoa(i)
		}
		chain = append(chain, "pan=mono|c0="+strings.Join(terms, "+"))
	}
	// The last one fills gaps between time stamps. In one filter with the resampling, the
	// silence would land beside the gap; before it, a long gap would take more memory. It
	// begins where the sound begins: ffmpeg makes all filters anew where a track changes.
	return strings.Join(append(chain, "aresample="+resampler+":osr="+strconv.Itoa(rate), "aresample=async=1"), ",")
}

// The resamplers, as arguments of ffmpeg's filter aresample. Both are flat to 0.9 times
// half the lower rate.
const (
	soxr = "resampler=soxr:precision=28"
	swr  = "filter_type=kaiser:kaiser_beta=10:filter_size=160:cutoff=0.95"
)

// bestResampler returns which of them this ffmpeg has.
func (j *job) bestResampler(path string) (string, error) {
	j.mu.Lock()
	known := j.resampler
	j.mu.Unlock()
	if known != "" {
		return known, nil
	}
	const maxVersion = 64 << 10 // bytes
	version, _, err := j.readAll(maxVersion, path, "-version")
	if err != nil {
		return "", err
	}
	known = swr
	if strings.Contains(string(version), "--enable-libsoxr") {
		known = soxr
	}
	j.mu.Lock()
	j.resampler = known
	j.mu.Unlock()
	return known, nil
}

// decoding is what was decoded so far, on its way to the caller.
type decoding struct {
	yield      func([]float32, error) bool
	rate       int
	count      int64
	maxSamples int64
	any        bool // the decoder gave a sample
	stopped    bool // the caller wants no more
	block      [blockSamples]float32
}

var (
	errStopped = errors.New("the caller wants no more")
	errTooMuch = errors.New("there is more sound than the limit allows")
)

// result says what the caller gets to see of an error.
func (s *decoding) result(err error) error {
	switch {
	case errors.Is(err, errStopped):
		return nil
	case errors.Is(err, errTooMuch):
		return fmt.Errorf("the sound is longer than %v, which is the limit here: cut the file into shorter ones",
			(time.Duration(s.maxSamples/int64(s.rate)) * time.Second))
	}
	return err
}

// silence yields n samples of it.
func (s *decoding) silence(n int64) error {
	for n > 0 {
		block := s.block[:min(n, blockSamples)]
		clear(block)
		if err := s.emit(block); err != nil {
			return err
		}
		n -= int64(len(block))
	}
	return nil
}

// copy yields the samples of r, after so many samples of silence. Bytes after the last whole
// sample are left out.
func (s *decoding) copy(r io.Reader, before int64) error {
	raw := make([]byte, 4*blockSamples)
	for {
		n, err := io.ReadFull(r, raw)
		if n >= 4 && !s.any { // another track has not begun
			if err := s.silence(before); err != nil {
				return err
			}
		}
		block := s.block[:n/4]
		for i := range block {
			block[i] = clipped(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		}
		if len(block) > 0 {
			s.any = true
			if err := s.emit(block); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (s *decoding) emit(block []float32) error {
	if s.count += int64(len(block)); s.count > s.maxSamples {
		return errTooMuch
	}
	if !s.yield(block, nil) {
		s.stopped = true
		return errStopped
	}
	return nil
}

// clipped is v in [-1,1]; 0 if it is no number.
func clipped(v float32) float32 {
	if v-v != 0 {
		return 0
	}
	return min(max(v, -1), 1)
}

// samples is how many there are in a time.
func samples(d time.Duration, rate int) int64 {
	return int64(math.Round(d.Seconds() * float64(rate)))
}
