import java.util.Arrays;
import java.util.stream.Collectors;

/** Times in ms, in the classes of harness/statistics.mjs. */
final class Histogram {
  private static final double SMALLEST = 1e-4;
  private static final int PER_DECADE = 50;
  private static final int DECADES = 10;

  private final long[] counts = new long[PER_DECADE * DECADES + 1];
  private double max;
  private double sum;
  private long count;

  void add(double ms) {
    int index = ms <= SMALLEST ? 0 : (int) Math.ceil(Math.log10(ms / SMALLEST) * PER_DECADE);
    counts[Math.min(index, counts.length - 1)]++;
    count++;
    sum += ms;
    max = Math.max(max, ms);
  }

  Histogram merge(Histogram other) {
    for (int i = 0; i < counts.length; i++) counts[i] += other.counts[i];
    count += other.count;
    sum += other.sum;
    max = Math.max(max, other.max);
    return this;
  }

  String json() {
    String all = Arrays.stream(counts).mapToObj(Long::toString).collect(Collectors.joining(","));
    return "{\"counts\":[" + all + "],\"max\":" + max + ",\"sum\":" + sum + ",\"count\":" + count + "}";
  }
}
