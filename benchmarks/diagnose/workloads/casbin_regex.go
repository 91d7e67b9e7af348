package util

import "testing"

func BenchmarkWorkload(b *testing.B) {
	for n := 0; n < b.N; n++ {
		for _, path := range []string{"/foo/12/edit", "/foo/edit", "/topic/edit/123"} {
			RegexMatch(path, "^/(foo|topic)/([0-9]+|edit)/?[a-z0-9]*$")
			KeyMatch2(path, "/foo/:id/edit")
		}
	}
}
