// Package release keeps the modules of one release together. Nested modules share code of
// the core that is not its API, so a module of one minor version must not be built with a
// core of another.
//
// Each nested module names the constant of its minor version:
//
//	const _ = release.V0_1
//
// With a core of another minor version, the build says "undefined: release.V0_1": require
// the same minor version of all modules of Mortise.
package release

// V0_1 is the present minor version. The release of another one renames it, here and in
// each nested module.
const V0_1 = true
