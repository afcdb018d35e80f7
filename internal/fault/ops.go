package fault

import "reflect"

// Ops returns a function from the name of a method to its op: the name of the interface
// that has it, and its own.
func Ops(interfaces ...reflect.Type) func(method string) string {
	ops := make(map[string]string)
	for _, i := range interfaces {
		for m := range i.Methods() {
			ops[m.Name] = i.Name() + "." + m.Name
		}
	}
	return func(method string) string { return ops[method] }
}
