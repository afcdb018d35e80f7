package onnx

import (
	"errors"
	"fmt"
)

// The numbers of more fields in onnx.proto.
const (
	nodeOperator, nodeDomain, nodeOverload             = 4, 7, 8
	nodeAttribute                                      = 5
	modelFunction                                      = 25
	functionName, functionDomain, functionOverload     = 1, 10, 13
	attributeName, attributeInteger, attributeReferral = 1, 3, 21
)

// maxCalls bounds how deep functions call functions. ONNX Runtime copies them to where they
// are called; what comes of that has at most maxNodes, too.
const maxCalls = 64

// maxSize bounds the attributes of sizes.
const maxSize = 1 << 20

// sizes are the attributes that ONNX Runtime 1.30 divides by without a look at them.
var sizes = map[string]bool{
	"group":     true, // of ConvTranspose
	"blocksize": true, // of DepthToSpace, which divides by its square
}

// lookNode looks whether the attributes of a NodeProto are such that ONNX Runtime survives
// them.
func lookNode(node []byte) error {
	return fields(node, func(number int, _ uint64, data []byte) error {
		if number != nodeAttribute || data == nil {
			return nil
		}
		name := text(data, attributeName)
		if !sizes[name] || text(data, attributeReferral) != "" { // of the function that it stands in
			return nil
		}
		value := int64(0)
		err := fields(data, func(number int, v uint64, _ []byte) error {
			if number == attributeInteger {
				value = int64(v)
			}
			return nil
		})
		if err == nil && (value < 1 || value > maxSize) {
			return fmt.Errorf("the model has a node (%s) whose %s is %d: it must be 1 to %d", quote(text(node, nodeOperator)), name, value, maxSize)
		}
		return err
	})
}

// callee names a function: its domain, name and overload.
type callee [3]string

// body is what a function has.
type body struct {
	nodes int
	calls map[callee]int
	state int // 0: not looked at, 1: is being looked at, 2: has been
	all   int // nodes, those of what it calls included
	depth int // of calls in calls
}

var (
	errCallsItself = errors.New("the model has a function that calls itself, which ONNX does not allow")
	errManyCalls   = fmt.Errorf("the model has functions in functions, more than %d deep", maxCalls)
	errManyInlined = fmt.Errorf("the model has more than %d nodes when its functions stand where they are called", maxNodes)
)

// lookFunctions looks whether the functions of a model, put where they are called, leave a
// model that can be loaded: ONNX Runtime would fill the stack or the memory with others.
func lookFunctions(model []byte) error {
	functions := map[callee]*body{}
	_ = fields(model, func(number int, _ uint64, data []byte) error {
		if number == modelFunction {
			b := &body{calls: map[callee]int{}}
			b.read(kindFunction, data)
			functions[callee{text(data, functionDomain), text(data, functionName), text(data, functionOverload)}] = b
		}
		return nil
	})
	if len(functions) == 0 {
		return nil
	}
	main := &body{calls: map[callee]int{}}
	_ = fields(model, func(number int, _ uint64, data []byte) error {
		if number == modelGraph {
			main.read(kindGraph, data)
		}
		return nil
	})
	if err := main.expand(functions, 0); err != nil {
		return err
	}
	for _, b := range functions { // also those that nobody calls
		if err := b.expand(functions, 0); err != nil {
			return err
		}
	}
	return nil
}

// read counts the nodes of a message that [look] has looked through, and what they call.
func (b *body) read(k kind, message []byte) {
	_ = fields(message, func(number int, _ uint64, data []byte) error {
		inner := within[k][number]
		switch inner {
		case kindNode:
			b.nodes++
			b.calls[callee{text(data, nodeDomain), text(data, nodeOperator), text(data, nodeOverload)}]++
			b.read(inner, data)
		case kindGraph, kindAttribute:
			b.read(inner, data)
		}
		return nil
	})
}

// expand counts all nodes.
func (b *body) expand(functions map[callee]*body, depth int) error {
	switch {
	case b.state == 2:
		return nil
	case b.state == 1:
		return errCallsItself
	case depth > maxCalls:
		return errManyCalls
	}
	b.state, b.all = 1, b.nodes
	for name, times := range b.calls {
		called := functions[name]
		if called == nil {
			continue
		}
		if err := called.expand(functions, depth+1); err != nil {
			return err
		}
		if b.depth = max(b.depth, called.depth+1); b.depth > maxCalls {
			return errManyCalls
		}
		if called.all > maxNodes/times {
			return errManyInlined
		}
		if b.all += times * called.all; b.all > maxNodes {
			return errManyInlined
		}
	}
	b.state = 2
	return nil
}
