package demo;
import org.openjdk.jmh.annotations.*;
import java.util.concurrent.TimeUnit;
@State(Scope.Thread)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class Text {
  @Param({"10", "100"}) int size;
  @Param({"a,b"}) String separator;
  @Benchmark public String join() { StringBuilder b = new StringBuilder(); for (int i = 0; i < size; i++) b.append(i).append(separator); return b.toString(); }
  @Benchmark @BenchmarkMode({Mode.AverageTime, Mode.SampleTime, Mode.SingleShotTime}) public int hash() { int h = 0; for (int i = 0; i < size; i++) h = h * 31 + i; return h; }
}
