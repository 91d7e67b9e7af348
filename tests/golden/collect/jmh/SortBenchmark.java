package demo;

import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.*;
import org.openjdk.jmh.infra.Blackhole;

@State(Scope.Benchmark)
@Fork(2)
@Warmup(iterations = 1, time = 50, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 3, time = 50, timeUnit = TimeUnit.MILLISECONDS)
public class SortBenchmark {
    @Param({"10", "100"})
    public int size;

    private int[] numbers;

    @Setup
    public void setup() {
        numbers = new Random(1).ints(size).toArray();
    }

    private int[] sorted() {
        int[] copy = numbers.clone();
        Arrays.sort(copy);
        return copy;
    }

    @Benchmark
    @BenchmarkMode(Mode.Throughput)
    @OutputTimeUnit(TimeUnit.MILLISECONDS)
    public int[] throughput() {
        return sorted();
    }

    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    public int[] average() {
        return sorted();
    }

    @Benchmark
    @BenchmarkMode(Mode.SampleTime)
    @OutputTimeUnit(TimeUnit.MICROSECONDS)
    public void sample() {
        // Long enough that the histogram in the result file stays small.
        Blackhole.consumeCPU(20_000L * size);
    }

    @Benchmark
    @BenchmarkMode(Mode.SingleShotTime)
    @OutputTimeUnit(TimeUnit.MICROSECONDS)
    public int[] single() {
        return sorted();
    }
}
