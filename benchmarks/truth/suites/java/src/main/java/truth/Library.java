package truth;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** What programs do all day with the JDK's own library. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class Library {
    private static final Pattern WORD = Pattern.compile("([a-z]+)-(\\d+)");
    private final List<Integer> numbers =
            new Random(1).ints(2_000).boxed().collect(Collectors.toCollection(ArrayList::new));
    private final byte[] bytes = "the quick brown fox jumps over the lazy dog. ".repeat(100).getBytes(StandardCharsets.UTF_8);
    private final String text = "alpha-12 beta-345 gamma-6789 ".repeat(50);
    private final BigInteger large = new BigInteger(2_000, new Random(2)).setBit(0);

    @Benchmark
    public List<Integer> sort() {
        List<Integer> copy = new ArrayList<>(numbers);
        Collections.sort(copy);
        return copy;
    }

    @Benchmark
    public Map<Integer, Integer> hashMap() {
        Map<Integer, Integer> counts = new HashMap<>();
        numbers.forEach(number -> counts.merge(number % 97, 1, Integer::sum));
        return counts;
    }

    @Benchmark
    public Map<Integer, Integer> treeMap() {
        Map<Integer, Integer> counts = new TreeMap<>();
        numbers.forEach(number -> counts.merge(number % 997, 1, Integer::sum));
        return counts;
    }

    @Benchmark
    public long streams() {
        return numbers.stream().filter(number -> number % 3 == 0).mapToLong(Integer::longValue).sum();
    }

    @Benchmark
    public String base64() {
        return Base64.getEncoder().encodeToString(bytes);
    }

    @Benchmark
    public byte[] sha256() throws Exception {
        return MessageDigest.getInstance("SHA-256").digest(bytes);
    }

    @Benchmark
    public long crc32() {
        CRC32 sum = new CRC32();
        sum.update(bytes);
        return sum.getValue();
    }

    @Benchmark
    public int deflate() {
        Deflater deflater = new Deflater();
        deflater.setInput(bytes);
        deflater.finish();
        int size = deflater.deflate(new byte[bytes.length]);
        deflater.end();
        return size;
    }

    @Benchmark
    public String regex() {
        return WORD.matcher(text).replaceAll("$2-$1");
    }

    @Benchmark
    public String concatenation() {
        StringBuilder built = new StringBuilder();
        numbers.forEach(number -> built.append(number).append(','));
        return built.toString();
    }

    @Benchmark
    public BigInteger bigInteger() {
        return large.modPow(BigInteger.valueOf(65_537), large.add(BigInteger.TWO));
    }

    @Benchmark
    public String[] split() {
        return text.split(" ");
    }
}
