package wav

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// encoding says how a sample is written.
type encoding struct {
	float bool
	bytes int // of one sample of one channel; what is used of them stands in the upper bits, so that it does not matter how much that is
}

// track is where the samples of a file are, and what they are.
type track struct {
	encoding
	big      bool // the highest byte of a sample comes first
	rate     int
	channels int
	offset   int64 // of the first frame, in bytes
	frames   int64 // in the file; a frame is one sample of each channel
	missing  int64 // frames that the header speaks of and that are not there
}

func (s *track) frameBytes() int { return s.bytes * s.channels }

func (s *track) duration() time.Duration { return s.lasting(s.frames) }

// lasting returns how long so many frames last.
func (s *track) lasting(frames int64) time.Duration {
	seconds := frames / int64(s.rate)
	if seconds > int64(math.MaxInt64/time.Second)-1 {
		return math.MaxInt64
	}
	return time.Duration(seconds)*time.Second + time.Duration(frames%int64(s.rate))*time.Second/time.Duration(s.rate)
}

// incomplete returns an error if a part of the sound is missing. Less than a tenth of a
// second is no part, but a sloppy header.
func (s *track) incomplete() error {
	if s.lasting(s.missing) < time.Second/10 {
		return nil
	}
	return sound.Incomplete(fmt.Errorf("the file ends at %v, and its header says %v: copy it again, completely",
		s.duration().Round(time.Millisecond), s.lasting(s.frames+s.missing).Round(time.Millisecond)))
}

// Limits of what is believed.
const (
	minRate     = 100 // of a file
	maxRate     = 768_000
	minOutRate  = 1000 // that is asked for
	maxChannels = 256
	maxChunks   = 10_000 // a file has a dozen
)

const (
	formatPCM        = 0x0001
	formatFloat      = 0x0003
	formatExtensible = 0xFFFE

	unknownSize = 0xFFFFFFFF // in a chunk: see ds64, or to the end of the file

	// maxTrailer is how many bytes may follow the sound of a stream.
	maxTrailer = 16 << 20

	// wrap: of a size of 4 GiB and more, some programs write the lower 32 bits.
	wrap = 1 << 32

	// streamSize and more is what programs write that cannot go back to fill in the size,
	// such as 0x7FFFF000 or 0x80000000.
	streamSize = 0x7FFFF000
)

// subformatTail ends the GUID of every subformat that stands for a plain format code,
// which is its first two bytes.
const subformatTail = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xAA\x00\x38\x9B\x71"

// parse finds the sound in a file of size bytes.
func parse(r io.ReaderAt, size int64) (*track, error) {
	if size == 0 {
		return nil, sound.BadMedia(errors.New("the file is empty: record it or copy it again"))
	}
	var head [12]byte
	n, err := readAt(r, head[:], 0)
	if err != nil {
		return nil, err
	}
	magic := string(head[:min(n, 4)])
	switch {
	case magic != "RIFF" && magic != "RIFX" && magic != "RF64" && magic != "BW64", n == 12 && string(head[8:]) != "WAVE":
		return nil, fmt.Errorf("%w: it is no WAV file; convert it to WAV, or install ffmpeg", sound.ErrFormat)
	case n < 12:
		return nil, errCut
	}
	p := parser{r: r, size: size, order: binary.LittleEndian, wide: magic == "RF64" || magic == "BW64"}
	if magic == "RIFX" {
		p.order = binary.BigEndian
	}
	p.riffSize = int64(p.order.Uint32(head[4:]))
	return p.chunks()
}

var (
	errCut     = sound.BadMedia(errors.New("the file ends before its sound begins: copy it again, completely"))
	errNoData  = sound.BadMedia(errors.New("the WAV file has no part named \"data\", which would hold its sound: save it again with another program"))
	errNoSound = sound.BadMedia(errors.New("the file has no sound: it holds not a single sample; record it again"))
)

type parser struct {
	r        io.ReaderAt
	size     int64
	order    binary.ByteOrder
	riffSize int64 // as the file says it, in its first 32 bits
	wide     bool  // RF64 or BW64: 64-bit sizes are in ds64
	ds64     int64 // size of the data chunk; 0: not there

	fmt        *track // without offset and frames
	data       int64  // offset of the data; 0: not there yet
	dataLength int64
	missing    int64 // bytes of the data
}

// chunks goes from chunk to chunk until it knows the format and where the data is.
func (p *parser) chunks() (*track, error) {
	offset := int64(12)
	for range maxChunks {
		var head [8]byte
		if n, err := readAt(p.r, head[:], offset); err != nil {
			return nil, err
		} else if n == 0 && p.fmt != nil && offset == p.riffSize+8 {
			return nil, errNoData
		} else if n < 8 {
			return nil, errCut
		}
		offset += 8
		length := int64(p.order.Uint32(head[4:]))
		var err error
		switch string(head[:4]) {
		case "ds64":
			err = p.readSizes(offset)
		case "fmt ":
			err = p.readFormat(offset, length)
		case "data":
			next, err := p.name(offset)
			if err != nil {
				return nil, err
			}
			if length > 0 || next != "data" { // else the sound is in the next one
				p.data = offset
				length = p.readLength(length, next)
			}
		}
		if err != nil {
			return nil, err
		}
		if p.fmt != nil && p.data != 0 {
			return p.found()
		}
		offset += length
		if length%2 == 1 { // chunks begin at even offsets
			padded, err := p.padded(offset)
			if err != nil {
				return nil, err
			}
			if padded {
				offset++
			}
		}
	}
	return nil, sound.BadMedia(errors.New("the WAV file has too many parts: save it again with another program"))
}

// padded reports whether a chunk of odd length that ends at an offset has its pad byte.
// Some programs leave it out: then the next chunk's name begins there.
func (p *parser) padded(offset int64) (bool, error) {
	var b [5]byte
	n, err := readAt(p.r, b[:], offset)
	if err != nil || n < len(b) {
		return true, err
	}
	switch string(b[:4]) {
	case "fmt ", "data", "fact", "LIST", "bext", "JUNK", "cue ", "smpl", "iXML", "PEAK":
		return false, nil
	}
	return printable(b[1:]) || !printable(b[:4]), nil
}

// name returns the name of a part that begins at an offset, or "" if none does.
func (p *parser) name(offset int64) (string, error) {
	var b [4]byte
	n, err := readAt(p.r, b[:], offset)
	if err != nil || n < len(b) || !printable(b[:]) {
		return "", err
	}
	return string(b[:]), nil
}

// printable reports whether bytes could be the name of a part.
func printable(name []byte) bool {
	for _, c := range name {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

func (p *parser) found() (*track, error) {
	s := *p.fmt
	s.offset = p.data
	s.frames = p.dataLength / int64(s.frameBytes())
	s.missing = (p.dataLength+p.missing)/int64(s.frameBytes()) - s.frames
	if s.frames == 0 {
		return nil, errNoSound
	}
	return &s, nil
}

// readLength finds out how many bytes of sound there really are, and how many are
// missing. It returns the former. next is the name of the next part if the length is 0.
func (p *parser) readLength(length int64, next string) int64 {
	rest := max(p.size-p.data, 0)
	if !p.wide && length > 0 && length < streamSize { // no other chunk is that long
		length += max(rest-length, 0) / wrap * wrap
	}
	known := length < streamSize || length > unknownSize
	switch {
	case length == unknownSize && p.wide && p.ds64 > 0:
		length, known = p.ds64, true
	case length == unknownSize, !known && rest-length > maxTrailer:
		length = rest
	case length == 0 && (next == "" || p.riffSize+8 != p.size && p.riffSize+8 != p.size-1):
		// The writer never filled in the length: no other part follows, or the length of
		// the whole file is wrong, too.
		length = rest
	}
	p.dataLength = min(length, rest)
	if known {
		p.missing = length - p.dataLength
	}
	return p.dataLength
}

// readSizes reads a ds64 chunk: 64-bit sizes of the file, the data, and more.
func (p *parser) readSizes(offset int64) error {
	var sizes [16]byte
	if n, err := readAt(p.r, sizes[:], offset); err != nil {
		return err
	} else if n < len(sizes) {
		return errCut
	}
	if data := p.order.Uint64(sizes[8:]); data <= math.MaxInt64 {
		p.ds64 = int64(data)
	}
	return nil
}

// readFormat reads a fmt chunk: WAVEFORMATEX, or WAVEFORMATEXTENSIBLE of Microsoft's
// mmreg.h.
func (p *parser) readFormat(offset, length int64) error {
	var b [40]byte
	want := int(min(length, int64(len(b))))
	n, err := readAt(p.r, b[:want], offset)
	switch {
	case err != nil:
		return err
	case n < want:
		return errCut
	case n < 16:
		return sound.BadMedia(errors.New("the header of the WAV file is too short: save it again with another program"))
	}
	code := p.order.Uint16(b[:])
	s := &track{channels: int(p.order.Uint16(b[2:])), rate: int(min(p.order.Uint32(b[4:]), math.MaxInt32))}
	perSecond := int64(p.order.Uint32(b[8:])) // bytes
	frame, bits := int(p.order.Uint16(b[12:])), int(p.order.Uint16(b[14:]))
	if code == formatExtensible && n == len(b) {
		code = p.order.Uint16(b[24:])
		if string(b[26:40]) != subformatTail {
			return fmt.Errorf("%w: the WAV file has a codec of its own; convert it to WAV with PCM, or install ffmpeg", sound.ErrFormat)
		}
	}
	switch {
	case code != formatPCM && code != formatFloat:
		return fmt.Errorf("%w: the WAV file has codec 0x%04X inside; convert it to WAV with PCM, or install ffmpeg", sound.ErrFormat, code)
	case s.channels < 1 || s.channels > maxChannels:
		return sound.BadMedia(fmt.Errorf("the WAV file says that it has %d channels: it must have 1 to %d", s.channels, maxChannels))
	case s.rate < minRate || s.rate > maxRate:
		return sound.BadMedia(fmt.Errorf("the WAV file says that it has %d samples per second: it must have %d to %d", s.rate, minRate, maxRate))
	}
	s.encoding, s.big = encoding{float: code == formatFloat, bytes: (bits + 7) / 8}, p.order == binary.BigEndian
	// A sample may have more bytes than its bits need, such as 24 bits in 4 bytes. A frame
	// that the bytes of a second contradict is a mistake.
	if frame%s.channels == 0 && frame/s.channels > s.bytes && perSecond != int64(s.rate)*int64(s.frameBytes()) {
		s.bytes = frame / s.channels
	}
	if !s.known() {
		return fmt.Errorf("%w: the WAV file has samples of %d bits in frames of %d bytes; convert it to WAV with PCM of 16 bits, or install ffmpeg",
			sound.ErrFormat, bits, frame)
	}
	p.fmt = s
	return nil
}

func (e encoding) known() bool {
	if e.float {
		return e.bytes == 4 || e.bytes == 8
	}
	return 1 <= e.bytes && e.bytes <= 4
}

// readAt reads as much of b as there is.
func readAt(r io.ReaderAt, b []byte, offset int64) (int, error) {
	n, err := r.ReadAt(b, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, fmt.Errorf("wav: reading the file: %w", withoutPath(err))
	}
	return n, nil
}
