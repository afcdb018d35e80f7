//go:build cgo

package onnx

import (
	"fmt"
	"math"
	"strings"
)

// endlessModels never end, whatever they hear.
func endlessModels() files {
	models := files{}
	weights := []message{longs("most", []int64{1 << 62}), tensor("true", bools, []byte{1}), floats("one", []float32{1}, 1)}
	body := func(nodes ...message) message {
		return graphAttribute("body", graph{
			nodes:   append([]message{op("Identity", "going", "on")}, nodes...),
			inputs:  []message{tensorInfo("turn", int64s), tensorInfo("going", bools), shapeless("before")},
			outputs: []message{tensorInfo("on", bools), shapeless("after")},
		}.encode())
	}
	same := op("Identity", "before", "after")
	models.addWith("of a constant", weights, op("Loop", "most true one", "extra", body(same)))
	models.addWith("of the scores", weights, op("Loop", "most true s", "extra", body(same)))
	models.addWith("without bounds", weights, op("Loop", "- - s", "extra", body(same)))
	models.addWith("with copies", weights, op("Loop", "most true one", "extra",
		body(op("Constant", "", "none", integers("value_ints", 0)), op("Constant", "", "once", integers("value_ints", 1)),
			op("Concat", "before before", "twice", integer("axis", 0)), node("Slice", []string{"twice", "none", "once"}, []string{"after"}))))
	inner := graph{
		nodes:   []message{op("Identity", "going2", "on2"), op("Identity", "before2", "after2")},
		inputs:  []message{tensorInfo("turn2", int64s), tensorInfo("going2", bools), shapeless("before2")},
		outputs: []message{tensorInfo("on2", bools), shapeless("after2")},
	}
	models.addWith("in a loop", weights, op("Loop", "most true s", "extra",
		body(op("Loop", "most true before", "after", graphAttribute("body", inner.encode())))))
	return models
}

// fatal adds models that end the process. What they divide, or by what, shows only when they run.
func fatal(models files) {
	least := []message{long("a", math.MinInt64), long("b", -1)}
	toFloats := op("Cast", "q", "extra", integer("to", float32s))
	models.addWith("quotient", least, op("Div", "a b", "q"), toFloats)
	models.addWith("remainder", least, op("Mod", "a b", "q"), toFloats)
	models.addWith("frames", []message{long("sh", -1, 5, 1), longs("step", []int64{1}), longs("length", []int64{0})},
		op("Reshape", "s sh", "three"), op("STFT", "three step - length", "extra"))
}

// overstrained adds models of which each asks an operator for something that it cannot do.
func overstrained(models files) {
	shapes(models)
	indices(models)
	kernels(models)
	others(models)
	graphs(models)
}

// shapes adds models that ask for large outputs, or for none.
func shapes(models files) {
	for name, shape := range map[string][]int64{
		"2-40": {1 << 40}, "2-62": {1 << 62}, "product": {1 << 40, 1 << 40}, "wraps": {1 << 32, 1 << 32},
		"max": {math.MaxInt64}, "negative": {-5}, "negatives": {-1 << 32, -1 << 32}, "zero": {0},
	} {
		weights := []message{long("shape", shape...), floats("one", []float32{1}, 1)}
		models.addWith("constant-"+name, weights, op("ConstantOfShape", "shape", "extra"))
		models.addWith("expand-"+name, weights, op("Expand", "one shape", "extra"))
		models.addWith("reshape-"+name, weights, op("Reshape", "s shape", "extra"))
		models.addWith("random-"+name, nil, op("RandomNormal", "", "extra", integers("shape", shape...)))
	}
	for name, times := range map[string]int64{"2-40": 1 << 40, "wraps": 1 << 62, "negative": -1} {
		models.addWith("tile-"+name, []message{long("times", times, times)}, op("Tile", "s times", "extra"))
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, r := range map[string][3]float32{
		"long": {0, 1e30, 1e-30}, "no-step": {0, 1, 0}, "nan": {0, nan, 1}, "inf": {0, inf, 1},
	} {
		models.addWith("range-"+name, []message{floats("a", r[:1]), floats("b", r[1:2]), floats("c", r[2:])}, op("Range", "a b c", "extra"))
	}
	for name, scale := range map[string]float32{"large": 1e9, "nan": nan, "inf": inf, "zero": 0, "negative": -1} {
		models.addWith("resize-"+name, []message{floats("scales", []float32{1, scale}, 2)}, op("Resize", "s - scales", "extra"))
	}
}

// indices adds models with indices, axes and counts that are not there.
func indices(models files) {
	axis := integer("axis", 1)
	for name, v := range map[string]int64{"2-40": 1 << 40, "max": math.MaxInt64, "min": math.MinInt64, "negative": -1 << 40} {
		add := func(operator string, weights []message, inputs, outputs string, attributes ...message) {
			models.addWith(strings.ToLower(operator)+"-"+name, weights, op(operator, inputs, outputs, attributes...))
		}
		one := []message{long("i", v), longs("scalar", []int64{v}), floats("u", []float32{7}, 1)}
		table := []message{longs("i", []int64{v}, 1, 1), longs("nd", []int64{0, v}, 1, 2), floats("u", []float32{7}, 1, 1), floats("w", []float32{7}, 1)}
		add("Pad", []message{long("p", 0, v, 0, v)}, "s p", "extra")
		add("Slice", []message{long("a", v), long("b", -v), long("axes", 1), long("steps", v)}, "s a b axes steps", "extra")
		add("TopK", one, "s i", "extra at")
		add("Gather", one, "s i", "extra", axis)
		add("GatherElements", table, "s i", "extra", axis)
		add("GatherND", table, "s nd", "extra")
		add("ScatterElements", table, "s i u", "extra", axis)
		add("ScatterND", table, "s nd w", "extra")
		add("OneHot", []message{long("at", 1), longs("scalar", []int64{v}), floats("v", []float32{0, 1}, 2)}, "at scalar v", "extra")
		add("Split", []message{long("i", v, -v)}, "s i", "extra rest", axis)
		add("Softmax", nil, "s", "extra", integer("axis", v))
		add("Transpose", nil, "s", "extra", integers("perm", v, 0))
		add("Unsqueeze", one, "s i", "extra")
		add("Trilu", one, "s scalar", "extra")
		add("HannWindow", one, "scalar", "extra")
		add("EyeLike", nil, "s", "extra", integer("k", v))
	}
}

// kernels adds models with sizes of pictures, sounds and blocks that make no sense.
func kernels(models files) {
	picture := []message{long("sh", -1, 1, 1, 5), floats("k", []float32{1}, 1, 1, 1, 1), floats("one", []float32{1}, 1)}
	four, three := op("Reshape", "s sh", "four"), op("Reshape", "s sound", "three")
	for name, v := range map[string]int64{"zero": 0, "negative": -1, "2-40": 1 << 40, "max": math.MaxInt64} {
		add := func(operator, inputs string, attributes ...message) {
			file := fmt.Sprintf("%s-%s-%d", strings.ToLower(operator), name, len(models))
			models.addWith(file, picture, four, op(operator, inputs, "extra", attributes...))
		}
		for attribute, value := range map[string]message{
			"strides": integers("strides", v, v), "dilations": integers("dilations", v, v),
			"kernel_shape": integers("kernel_shape", v, v), "pads": integers("pads", v, v, v, v),
		} {
			all := []message{value}
			add("Conv", "four k", all...)
			add("ConvTranspose", "four k", all...)
			if attribute != "kernel_shape" {
				all = append(all, integers("kernel_shape", 1, 1))
			}
			for _, pool := range []string{"MaxPool", "AveragePool", "LpPool"} {
				add(pool, "four", all...)
			}
		}
		add("Conv", "four k", integer("group", v))
		add("ConvTranspose", "four k", integer("group", v))
		add("ConvTranspose", "four k", integers("output_padding", v, v))
		add("ConvTranspose", "four k", integers("output_shape", v, v))
		add("LRN", "four", integer("size", v))
		add("DepthToSpace", "four", integer("blocksize", v))
		add("SpaceToDepth", "four", integer("blocksize", v))

		sound := []message{long("sound", -1, 5, 1), longs("v", []int64{v}), longs("four", []int64{4}), floats("f", []float32{1})}
		models.addWith("stft-"+name, sound, three, op("STFT", "three v - four", "extra"))
		models.addWith("dft-"+name, sound, three, op("DFT", "three v", "extra", integer("axis", 1)))
		models.addWith("mel-"+name, sound, op("MelWeightMatrix", "v v v f f", "extra"))
		models.addWith("lstm-"+name, []message{long("sound", 1, -1, 5), floats("w", randomWeights(20), 1, 4, 5), floats("r", randomWeights(4), 1, 4, 1)},
			three, op("LSTM", "three w r", "extra", integer("hidden_size", v)))
		models.addWith("heads-"+name, []message{long("sound", -1, 1, 5), floats("w", randomWeights(75), 5, 15), floats("b", randomWeights(15), 15)},
			three, in("com.microsoft", op("Attention", "three w b", "extra", integer("num_heads", v))))
		models.addWith("bits-"+name, []message{tensor("b", 2, make([]byte, 16), 1, 1, 16), floats("scale", []float32{1}, 1)},
			in("com.microsoft", op("MatMulNBits", "s b scale", "extra", integer("K", 5), integer("N", 1), integer("bits", 4), integer("block_size", v))))
	}
}

// others adds models of operators that have a language, a tree or memory of their own.
func others(models files) {
	for name, v := range map[string][2]int64{"zero": {1, 0}, "least-by-zero": {math.MinInt64, 0}} {
		weights := []message{long("a", v[0]), long("b", v[1])}
		toFloats := op("Cast", "q", "extra", integer("to", float32s))
		models.addWith("quotient-"+name, weights, op("Div", "a b", "q"), toFloats)
		models.addWith("remainder-"+name, weights, op("Mod", "a b", "q"), toFloats)
	}
	models.addWith("einsum", nil, op("Einsum", "s s", "extra", word("equation", "ab,bc->"+strings.Repeat("z", 5000))))
	models.addWith("einsum-rank", nil, op("Einsum", "s s s s s s", "extra", word("equation", "ab,cd,ef,gh,ij,kl->abcdefghijkl")))
	models.addWith("unknown", nil, in("org.example", op("Evil", "s", "extra")))

	trees := func(name string, yes, no, features []int64, leaf string) {
		g := with(nil, in("ai.onnx.ml", op("TreeEnsembleRegressor", "s", "extra",
			integer("n_targets", 1), integers("nodes_treeids", 0, 0, 0), integers("nodes_nodeids", 0, 1, 2), integers("nodes_featureids", features...),
			decimals("nodes_values", 0, 0, 0), words("nodes_modes", "BRANCH_LEQ", leaf, "LEAF"),
			integers("nodes_truenodeids", yes...), integers("nodes_falsenodeids", no...),
			integers("target_treeids", 0), integers("target_nodeids", 2), integers("target_ids", 0), decimals("target_weights", 1))))
		models.addImports("trees-"+name, g, []message{opset("", 17), opset("ai.onnx.ml", 3)})
	}
	trees("right", []int64{1, 0, 0}, []int64{2, 0, 0}, []int64{0, 0, 0}, "LEAF")
	trees("cycle", []int64{1, 0, 0}, []int64{2, 2, 0}, []int64{0, 0, 0}, "BRANCH_LEQ")
	trees("itself", []int64{0, 0, 0}, []int64{0, 0, 0}, []int64{0, 0, 0}, "BRANCH_LEQ")
	trees("nowhere", []int64{77, 0, 0}, []int64{99, 0, 0}, []int64{0, 0, 0}, "LEAF")
	supports := in("ai.onnx.ml", op("SVMRegressor", "s", "extra", integer("n_supports", 1<<30),
		decimals("coefficients", 1), decimals("support_vectors", 1), decimals("rho", 1)))
	models.addWith("supports", nil, supports)
}

// graphs adds models with nodes and versions that do not go together, and large numbers.
func graphs(models files) {
	models.addWith("cycle", nil, op("Add", "s extra", "x"), op("Identity", "x", "extra"))
	models.addWith("twice", nil, op("Identity", "s", "extra"), op("Identity", "s", "extra"))
	models.addWith("unconnected", nil, op("Identity", "nobody", "extra"))
	chain := []message{op("Identity", "s", "n0")}
	for i := range 3000 {
		chain = append(chain, op("Neg", fmt.Sprint("n", i), fmt.Sprint("n", i+1)))
	}
	models.addWith("chain", nil, append(chain, op("Identity", "n3000", "extra"))...)
	for _, v := range []int64{0, 1, 999, -1, math.MinInt64, math.MaxInt64} {
		models.addImports(fmt.Sprint("opset", v), waveform(anyLength), []message{opset("", v)})
	}
	models.addImports("opset-none", waveform(anyLength), nil)
	models.addImports("opset-two", waveform(anyLength), []message{opset("", 17), opset("", 3)})
	models.addImports("opset-many", waveform(anyLength), []message{opset("", 17), opset("ai.onnx.ml", 99), opset("com.microsoft", 77), opset("x", 1)})

	changed := func(name string, change func(*graph)) {
		g := waveform(anyLength)
		change(&g)
		models.add(name, g)
	}
	for name, shape := range map[string][]int64{
		"input-max": {anyLength, math.MaxInt64}, "input-60M": {anyLength, 60 << 20}, "input-0": {anyLength, 0}, "batch-2-40": {1 << 40, waveSamples},
	} {
		changed(name, func(g *graph) { g.inputs = []message{tensorInfo("waveform", float32s, shape...)} })
	}
	models.add("batch-1024", waveform(1024))
	for name, v := range map[string]float64{"nan": math.NaN(), "inf": math.Inf(-1), "largest": math.MaxFloat32, "smallest": 1e-44} {
		changed("weights-"+name, func(g *graph) { g.weights = filled(float32(v)) })
	}
	raw := make([]byte, waveSamples*waveClasses*4)
	for name, weights := range map[string]message{
		"short":    tensor("weights", float32s, raw[1:], waveSamples, waveClasses),
		"long":     tensor("weights", float32s, append(raw, 1, 2, 3), waveSamples, waveClasses),
		"type-77":  tensor("weights", 77, raw, waveSamples, waveClasses),
		"strings":  tensor("weights", 8, raw, waveSamples, waveClasses),
		"negative": tensor("weights", float32s, raw, -waveSamples, -waveClasses),
	} {
		changed("weights-"+name, func(g *graph) { g.weights = []message{weights} })
	}
}
