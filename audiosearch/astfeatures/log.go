package astfeatures

import "math"

// logBits is how many bits of a mantissa the table of logarithms is looked up by.
const logBits = 7

// part has, for the numbers of [1,2) that share their first bits, one over the number in
// their middle, and the logarithm of that number.
type part struct{ inverse, log float64 }

func newLogParts() (parts [1 << logBits]part) {
	for i := range parts {
		middle := 1 + (float64(i)+0.5)/float64(len(parts))
		parts[i] = part{1 / middle, math.Log(middle)}
	}
	return parts
}

// log is the natural logarithm of a number from floor on that is not infinite, to within
// 1e-12. math.Log, which is right to the last bit, takes a quarter of all time here.
func (t *tables) log(x float64) float64 {
	const mantissaBits, bias = 52, 1023
	bits := math.Float64bits(x)
	exponent := int(bits>>mantissaBits) - bias
	mantissa := math.Float64frombits(bits&(1<<mantissaBits-1) | bias<<mantissaBits)
	p := &t.logParts[bits>>(mantissaBits-logBits)%(1<<logBits)]
	// log(mantissa/middle), which is within 1/256 of 1, by its series.
	r := mantissa*p.inverse - 1
	series := r - r*r*(1.0/2-r*(1.0/3-r/4))
	return float64(exponent)*math.Ln2 + p.log + series
}
