package signal

const (
	silenceBlocks    = 50 // 400 ms
	silenceRun       = 2.0
	silentMeanSquare = 1e-6 // -60 dBFS
)

// silence is the share of the clip that is silent: parts of 2 s or more in which no 400
// ms have an RMS of -60 dBFS or more. A constant is no sound, so the RMS is that of what
// varies.
func (c *clip) silence() float64 {
	silent, end := 0, 0 // blocks that count, and the end of the last silent 400 ms
	begin := -1
	var sum, square float64
	for i := range c.blocks {
		sum += float64(c.blocks[i].mean)
		square += float64(c.blocks[i].meanSquare)
		if i >= silenceBlocks {
			sum -= float64(c.blocks[i-silenceBlocks].mean)
			square -= float64(c.blocks[i-silenceBlocks].meanSquare)
		}
		if i+1 < silenceBlocks {
			continue
		}
		mean := sum / silenceBlocks
		if square/silenceBlocks-mean*mean < silentMeanSquare {
			if begin < 0 {
				begin = i + 1 - silenceBlocks
			}
			end = i + 1
			continue
		}
		silent += longEnough(begin, end)
		begin = -1
	}
	silent += longEnough(begin, end)
	if len(c.blocks) == 0 {
		return 0
	}
	return clamp(float64(silent) / float64(len(c.blocks)))
}

// longEnough is the length of a silent part if that counts. Up to a block of it may be in
// the blocks around it.
func longEnough(begin, end int) int {
	if begin < 0 || float64(end-begin+1)*blockSeconds < silenceRun {
		return 0
	}
	return end - begin
}
