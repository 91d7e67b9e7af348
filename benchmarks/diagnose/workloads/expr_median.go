package expr_test

import (
	"testing"

	"github.com/expr-lang/expr"
)

func BenchmarkWorkload(b *testing.B) {
	values := make([]int, 1000)
	for n := range values {
		values[n] = (n * 7919) % 1000
	}
	environment := map[string]any{"values": values}
	program, err := expr.Compile("min(values) + median(values) + mean(values) + len(filter(values, # > 500))", expr.Env(environment))
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; n < b.N; n++ {
		if _, err := expr.Run(program, environment); err != nil {
			b.Fatal(err)
		}
	}
}
