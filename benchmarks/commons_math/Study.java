import java.util.Arrays;
import java.util.Locale;
import java.util.Random;
import java.util.function.DoubleSupplier;
import org.apache.commons.math3.analysis.interpolation.SplineInterpolator;
import org.apache.commons.math3.analysis.polynomials.PolynomialFunction;
import org.apache.commons.math3.complex.Complex;
import org.apache.commons.math3.linear.Array2DRowRealMatrix;
import org.apache.commons.math3.random.MersenneTwister;
import org.apache.commons.math3.special.Erf;
import org.apache.commons.math3.special.Gamma;
import org.apache.commons.math3.stat.Frequency;
import org.apache.commons.math3.stat.correlation.PearsonsCorrelation;
import org.apache.commons.math3.stat.descriptive.DescriptiveStatistics;
import org.apache.commons.math3.stat.descriptive.moment.StandardDeviation;
import org.apache.commons.math3.stat.regression.SimpleRegression;

/**
 * Performance-aware tests of what every release since 2.0 has. `Study REPETITIONS` prints the results as JMH does; `Study
 * SECONDS NAME` repeats one test that long and prints the sampled stacks of the thread that runs it.
 */
public final class Study {
    private interface Test {
        double run() throws Exception;
    }

    private static final int VALUES = 10_000;
    private static double kept;

    private static double[] values(String kind) {
        Random random = new Random(1);
        double[] values = new double[VALUES];
        for (int i = 0; i < VALUES; i++) {
            values[i] = kind.equals("equal") ? 1 : kind.equals("few") ? random.nextInt(10) : random.nextDouble();
        }
        return values;
    }

    private static double percentile(double[] values) {
        DescriptiveStatistics statistics = new DescriptiveStatistics();
        for (double value : values) {
            statistics.addValue(value);
        }
        return statistics.getPercentile(50) + statistics.getPercentile(95);
    }

    private static double spline() throws Exception {
        double[] x = new double[VALUES];
        for (int i = 0; i < VALUES; i++) {
            x[i] = i;
        }
        return new SplineInterpolator().interpolate(x, values("random")).value(VALUES / 3.0);
    }

    private static double matrix() throws Exception {
        double[][] rows = new double[100][];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = Arrays.copyOfRange(values("random"), i, i + rows.length);
        }
        Array2DRowRealMatrix one = new Array2DRowRealMatrix(rows);
        return one.multiply(one).getEntry(3, 4);
    }

    private static double correlation() throws Exception {
        double[][] rows = new double[200][];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = Arrays.copyOfRange(values("random"), i, i + 20);
        }
        return new PearsonsCorrelation().computeCorrelationMatrix(rows).getEntry(0, 1);
    }

    private static double regression() {
        SimpleRegression regression = new SimpleRegression();
        double[] values = values("random");
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < VALUES; i++) {
                regression.addData(i, values[i]);
            }
        }
        return regression.getSlope();
    }

    private static double frequency() {
        Frequency frequency = new Frequency();
        for (double value : values("few")) {
            frequency.addValue((int) value);
        }
        return frequency.getCumPct(5);
    }

    private static double special() throws Exception {
        double sum = 0;
        for (double value : values("random")) {
            sum += Erf.erf(value) + Gamma.logGamma(1 + value);
        }
        return sum;
    }

    private static double polynomial() {
        PolynomialFunction polynomial = new PolynomialFunction(Arrays.copyOf(values("random"), 200));
        double sum = 0;
        for (double value : values("random")) {
            sum += polynomial.value(value);
        }
        return sum;
    }

    private static double complex() {
        Complex sum = Complex.ZERO;
        for (double value : values("random")) {
            sum = sum.add(new Complex(value, 1 - value).exp().sqrt());
        }
        return sum.getReal();
    }

    private static double random() {
        MersenneTwister twister = new MersenneTwister(7);
        double sum = 0;
        for (int i = 0; i < 30 * VALUES; i++) {
            sum += twister.nextDouble();
        }
        return sum;
    }

    private static double deviation() {
        double[] values = values("random");
        double sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += new StandardDeviation().evaluate(values);
        }
        return sum;
    }

    private static Test test(String name) {
        switch (name) {
            case "percentile, random": return () -> percentile(values("random"));
            case "percentile, ten values": return () -> percentile(values("few"));
            case "percentile, one value": return () -> percentile(values("equal"));
            case "spline": return Study::spline;
            case "matrix product": return Study::matrix;
            case "correlation": return Study::correlation;
            case "regression": return Study::regression;
            case "frequency": return Study::frequency;
            case "erf and gamma": return Study::special;
            case "polynomial": return Study::polynomial;
            case "complex": return Study::complex;
            case "random": return Study::random;
            case "standard deviation": return Study::deviation;
            default: throw new IllegalArgumentException(name);
        }
    }

    private static final String[] NAMES = {
        "percentile, random", "percentile, ten values", "percentile, one value", "spline", "matrix product",
        "correlation", "regression", "frequency", "erf and gamma", "polynomial", "complex", "random",
        "standard deviation",
    };

    private static double millis(Test test) throws Exception {
        long begun = System.nanoTime();
        kept += test.run();
        return (System.nanoTime() - begun) / 1e6;
    }

    public static void main(String[] arguments) throws Exception {
        int repetitions = Integer.parseInt(arguments[0]);
        if (arguments.length > 1) {
            stacks(test(arguments[1]), repetitions);
            return;
        }
        StringBuilder json = new StringBuilder("[");
        for (String name : NAMES) {
            Test test = test(name);
            double[] times = new double[repetitions];
            for (int i = 0; i < 5; i++) {
                millis(test);
            }
            double sum = 0;
            for (int i = 0; i < repetitions; i++) {
                times[i] = millis(test);
                sum += times[i];
            }
            json.append(json.length() > 1 ? ",\n" : "\n").append(String.format(Locale.ROOT,
                "{\"benchmark\": \"%s\", \"mode\": \"ss\", \"forks\": 1, \"primaryMetric\": {\"score\": %.5f,"
                + " \"scoreError\": \"NaN\", \"scoreUnit\": \"ms/op\", \"rawData\": [%s]}}",
                name, sum / repetitions, Arrays.toString(times)));
        }
        System.out.println(json.append("\n]"));
        System.err.println(kept);
    }

    /** Collapsed stacks, the outermost first: one line each with its number of samples. */
    private static void stacks(Test test, int seconds) throws Exception {
        Thread worker = Thread.currentThread();
        java.util.Map<String, Integer> counts = new java.util.TreeMap<>();
        Thread sampler = new Thread(() -> {
            while (worker.isAlive() && !Thread.interrupted()) {
                StackTraceElement[] frames = worker.getStackTrace();
                StringBuilder line = new StringBuilder();
                for (int i = frames.length - 1; i >= 0; i--) {
                    String name = frames[i].getClassName() + "." + frames[i].getMethodName();
                    if (name.contains("$$Lambda")) {
                        continue; // named anew in each process
                    }
                    line.append(line.length() > 0 ? ";" : "").append(name.replace(".math3.", ".math."));
                }
                counts.merge(line.toString(), 1, Integer::sum);
                java.util.concurrent.locks.LockSupport.parkNanos(500_000);
            }
        });
        sampler.setDaemon(true);
        sampler.start();
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        while (System.nanoTime() < end) {
            millis(test);
        }
        sampler.interrupt();
        sampler.join();
        counts.forEach((line, count) -> System.out.println(line + " " + count));
        System.err.println(kept);
    }
}
