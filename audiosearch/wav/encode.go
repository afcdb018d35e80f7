package wav

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Encode writes samples in [-1,1] as a WAV file of 16-bit PCM, mono, of rate samples per
// second. What is beyond full scale is clipped, and NaN is 0. There may be 2^31-19
// samples, so that the file stays below 4 GiB.
func Encode(w io.Writer, rate int, samples []float32) error {
	const headerBytes = 44
	switch {
	case rate < minRate || rate > maxRate:
		return fmt.Errorf("wav: the rate must be %d to %d Hz, not %d", minRate, maxRate, rate)
	case int64(len(samples)) > (math.MaxUint32-headerBytes)/2:
		return fmt.Errorf("wav: %d samples are more than a WAV file can hold: write several files", len(samples))
	}
	le := binary.LittleEndian
	size := uint32(2 * len(samples))
	b := append(make([]byte, 0, headerBytes+2*blockSamples), "RIFF"...)
	b = le.AppendUint32(b, headerBytes-8+size)
	b = append(b, "WAVEfmt "...)
	b = le.AppendUint32(b, 16)
	b = le.AppendUint16(b, formatPCM)
	b = le.AppendUint16(b, 1) // channels
	b = le.AppendUint32(b, uint32(rate))
	b = le.AppendUint32(b, uint32(rate)*2)
	b = le.AppendUint16(b, 2)  // bytes of a frame
	b = le.AppendUint16(b, 16) // bits
	b = append(b, "data"...)
	b = le.AppendUint32(b, size)
	for {
		n := min(len(samples), blockSamples)
		for _, v := range samples[:n] {
			b = le.AppendUint16(b, uint16(quantize(v)))
		}
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("wav: %w", err)
		}
		b, samples = b[:0], samples[n:]
		if len(samples) == 0 {
			return nil
		}
	}
}

func quantize(v float32) int16 {
	if v != v {
		return 0
	}
	return int16(math.RoundToEven(min(max(float64(v)*(1<<15), math.MinInt16), math.MaxInt16)))
}
