package wav

import "math"

// polyphase changes a sampling rate by any ratio, with a short filter that leaves the
// steep one to a [brickwall]. Its filter is a table: one row of coefficients for each
// distance between a sample that goes out and the one that came in before it.
type polyphase struct {
	up, down int // rates after and before, without common divisors
	taps     int // in a row; a multiple of 4
	phases   int // rows; up, if each distance has its own
	table    []float32
	pending  []float32 // samples that are needed for what comes next
	at       int       // the first one of those for the next sample
	phase    int       // distance, in steps of 1/up
	row      []float32 // between two rows of the table
}

// maxTable bounds the coefficients of a table. Where the distances need more, the rows
// are interpolated. That adds errors of at most (2 pi cutoff/phases)^2/8 of full scale
// (the error of linear interpolation of a sine), below -110 dB for this size.
const maxTable = 1 << 15

// newPolyphase makes a stage from rate from to rate to. It is flat to 0.45*band and
// silent from 1.5*band on, both in Hz: between the two is nothing, or the brickwall
// removes it. See start for where it begins.
func newPolyphase(from, to, band int) *polyphase {
	g := gcd(from, to)
	p := &polyphase{up: to / g, down: from / g}
	lower := float64(band) / float64(from)
	pass, stop := 0.45*lower, 1.5*lower
	p.taps = (int(math.Ceil(kaiserLength/(stop-pass))) + 1 + 3) / 4 * 4
	filter := kernel{cutoff: (pass + stop) / 2, half: float64(p.taps) / 2}

	p.phases = p.up
	rows := p.up
	if p.up*p.taps > maxTable {
		p.phases = max(maxTable/p.taps, 1)
		rows = p.phases + 1 // the last one is the first one, a sample later
	}
	p.table = make([]float32, rows*p.taps)
	for i := range p.table {
		phase, tap := i/p.taps, i%p.taps
		p.table[i] = float32(filter.at(float64(phase)/float64(p.phases) + float64(p.taps/2-1-tap)))
	}
	p.row = make([]float32, p.taps)
	return p
}

// start says that the input begins leadIn samples before time 0, and lets the output
// begin leadOut samples before it. Before the input was silence. The steep filter rings
// before a sound as it does after it, so that a stage between others has to go on in both
// directions.
func (p *polyphase) start(leadIn, leadOut int) {
	position := -leadOut * p.down // of the first sample, in steps of 1/up
	p.phase = ((position % p.up) + p.up) % p.up
	first := (position-p.phase)/p.up - (p.taps/2 - 1) + leadIn
	p.pending = make([]float32, max(-first, 0))
	p.at = max(first, 0)
}

// process appends to dst what follows from src and all samples before it.
func (p *polyphase) process(dst, src []float32) []float32 {
	p.pending = append(p.pending, src...)
	step, rest := p.down/p.up, p.down%p.up
	at, phase := p.at, p.phase
	for at+p.taps <= len(p.pending) {
		dst = append(dst, dot(p.coefficients(phase), p.pending[at:][:p.taps]))
		at += step
		phase += rest
		if phase >= p.up {
			phase -= p.up
			at++
		}
	}
	used := min(at, len(p.pending))
	p.pending = p.pending[:copy(p.pending, p.pending[used:])]
	p.at, p.phase = at-used, phase
	return dst
}

// coefficients returns the row for a distance.
func (p *polyphase) coefficients(phase int) []float32 {
	if p.phases == p.up {
		return p.table[phase*p.taps:][:p.taps]
	}
	scaled := phase * p.phases
	below := p.table[scaled/p.up*p.taps:][:2*p.taps]
	share := float32(float64(scaled%p.up) / float64(p.up))
	for i := range p.row {
		p.row[i] = below[i] + share*(below[p.taps+i]-below[i])
	}
	return p.row
}

// dot is the scalar product of two slices of the same length, a multiple of 4. Four sums
// keep the processor from waiting for one.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	return (s0 + s1) + (s2 + s3)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
