// Package slot lets the handler of a job free its place in a consumer before it returns:
// when its work is done, and only the end of it is to be written. So the claim of the next
// job and that write can share a transaction.
package slot

import "context"

type key struct{}

// With returns the context of a handler that gives its place by calling give. That may be
// called once, on the handler's goroutine.
func With(ctx context.Context, give func()) context.Context {
	return context.WithValue(ctx, key{}, give)
}

// Give gives the place of the handler that has this context, or one made from it. Where the
// queue has no such places, it does nothing.
func Give(ctx context.Context) {
	if give, ok := ctx.Value(key{}).(func()); ok {
		give()
	}
}
