// Print how long 1,000 calls took, in ns: tail WORKLOAD WORK WORK_OF_SLOW_CALLS; every 33rd call is slow.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"
)

type record struct {
	Name   string
	Values []int
}

var kept int

var workloads = map[string]func(){
	"map": func() {
		numbers := map[string]int{}
		for i := 0; i < 8; i++ {
			numbers[strconv.Itoa(i*7919)] = i
		}
		kept += len(numbers)
	},
	"json": func() {
		text, _ := json.Marshal(record{"aaaaaaaaaaaaaaaaaaaa", []int{1, 2, 3, 4, 5, 6}})
		var read record
		_ = json.Unmarshal(text, &read)
		kept += len(read.Values)
	},
}

func main() {
	work := workloads[os.Args[1]]
	usual, _ := strconv.Atoi(os.Args[2])
	slow, _ := strconv.Atoi(os.Args[3])
	took := make([]int64, 1100)
	for call := range took {
		count := usual
		if call%33 == 0 {
			count = slow
		}
		start := time.Now()
		for i := 0; i < count; i++ {
			work()
		}
		took[call] = time.Since(start).Nanoseconds()
	}
	text, _ := json.Marshal(took[100:])
	fmt.Println(string(text))
}
