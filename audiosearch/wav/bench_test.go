package wav

import (
	"bytes"
	"fmt"
	"testing"
)

// The figure is how many seconds of sound are read in a second.
func BenchmarkResample(b *testing.B) {
	for _, pair := range [][2]int{{44100, 16000}, {48000, 16000}, {192000, 16000}, {44101, 16000}, {8000, 16000}, {16000, 16000}} {
		b.Run(fmt.Sprint(pair[0], "to", pair[1]), func(b *testing.B) {
			in := sine(pair[0], 440, 8192)
			r := newResampler(pair[0], pair[1])
			var out []float32
			for b.Loop() {
				out = r.process(out[:0], in)
			}
			b.ReportMetric(float64(len(in))*float64(b.N)/float64(pair[0])/b.Elapsed().Seconds(), "x-realtime")
		})
	}
}

func BenchmarkPCM(b *testing.B) {
	for _, c := range []track{
		{encoding: encoding{false, 2}, rate: 44100, channels: 1, offset: 44}, {encoding: encoding{false, 2}, rate: 44100, channels: 2, offset: 44},
		{encoding: encoding{false, 3}, rate: 192000, channels: 8, offset: 44},
		{encoding: encoding{true, 4}, rate: 48000, channels: 2, offset: 44},
	} {
		b.Run(fmt.Sprintf("%dHz_%dch_%dbit", c.rate, c.channels, 8*c.bytes), func(b *testing.B) {
			c.frames = int64(10 * c.rate)
			file := bytes.NewReader(make([]byte, c.offset+c.frames*int64(c.frameBytes())))
			for b.Loop() {
				if err := stream(b.Context(), file, &c, 16000, func([]float32, error) bool { return true }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(10*float64(b.N)/b.Elapsed().Seconds(), "x-realtime")
		})
	}
}
