package wav

import (
	"encoding/binary"
	"math"
	"slices"
)

// means appends the mean of the channels of each whole frame in raw, which it may change,
// to dst.
func (s *track) means(dst []float32, raw []byte) []float32 {
	if s.big {
		for rest := raw; len(rest) >= s.bytes; rest = rest[s.bytes:] {
			slices.Reverse(rest[:s.bytes])
		}
	}
	if s.float {
		return s.floatMeans(dst, raw)
	}
	if s.bytes == 2 && s.channels == 1 {
		for ; len(raw) >= 2; raw = raw[2:] {
			dst = append(dst, float32(int16(binary.LittleEndian.Uint16(raw)))/(1<<15))
		}
		return dst
	}
	// Integers add up without error; the scale brings the sum of the channels to [-1,1).
	scale := 1 / (float64(s.channels) * float64(int64(1)<<(8*s.bytes-1)))
	for size := s.frameBytes(); len(raw) >= size; raw = raw[size:] {
		dst = append(dst, float32(float64(intSum(raw[:size], s.bytes))*scale))
	}
	return dst
}

// intSum adds up the samples of a frame.
func intSum(frame []byte, bytes int) (sum int64) {
	switch bytes {
	case 1:
		for _, b := range frame {
			sum += int64(b) - 128 // the only size that is unsigned
		}
	case 2:
		for ; len(frame) >= 2; frame = frame[2:] {
			sum += int64(int16(binary.LittleEndian.Uint16(frame)))
		}
	case 3:
		for ; len(frame) >= 3; frame = frame[3:] {
			sum += int64(int32(uint32(frame[0])<<8|uint32(frame[1])<<16|uint32(frame[2])<<24) >> 8)
		}
	case 4:
		for ; len(frame) >= 4; frame = frame[4:] {
			sum += int64(int32(binary.LittleEndian.Uint32(frame)))
		}
	}
	return sum
}

func (s *track) floatMeans(dst []float32, raw []byte) []float32 {
	for size := s.frameBytes(); len(raw) >= size; raw = raw[size:] {
		mean := floatSum(raw[:size], s.bytes) / float64(s.channels)
		dst = append(dst, float32(min(max(mean, -1), 1)))
	}
	return dst
}

// floatSum adds up the samples of a frame, those that are numbers.
func floatSum(frame []byte, bytes int) (sum float64) {
	for ; len(frame) >= bytes; frame = frame[bytes:] {
		var v float64
		if bytes == 4 {
			v = float64(math.Float32frombits(binary.LittleEndian.Uint32(frame)))
		} else {
			v = math.Float64frombits(binary.LittleEndian.Uint64(frame))
		}
		if v-v == 0 { // neither NaN nor infinite
			sum += v
		}
	}
	return sum
}

// clip brings samples into [-1,1]. A filter overshoots where a sound is close to full
// scale.
func clip(samples []float32) {
	for i, v := range samples {
		if v > 1 || v < -1 {
			samples[i] = min(max(v, -1), 1)
		}
	}
}
