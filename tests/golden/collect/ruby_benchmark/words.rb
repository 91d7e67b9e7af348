require "benchmark"
words = (1..2000).map { |n| (n * 7919 % 2003).to_s }
Benchmark.bmbm do |x|
  x.report("sort!") { 200.times { words.dup.sort! } }
  x.report("sort by length") { 200.times { words.dup.sort_by(&:length) } }
end
puts Benchmark.measure { 100.times { words.sort } }
