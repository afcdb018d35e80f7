package spectrogram_test

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/spectrogram"
)

// Two seconds of a tone of 440 Hz, of which the second one was found.
func ExampleDraw() {
	samples := make([]float32, 2*spectrogram.Rate)
	for i := range samples {
		samples[i] = float32(math.Sin(2 * math.Pi * 440 * float64(i) / spectrogram.Rate))
	}
	picture := spectrogram.Draw(samples, time.Second, 2*time.Second)
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		panic(err)
	}
	fmt.Println(picture.Bounds().Size(), file.Len() > 0)
	// Output: (640,128) true
}
