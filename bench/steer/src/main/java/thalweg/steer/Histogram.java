package thalweg.steer;

import java.util.Locale;

/**
 * A histogram of latencies whose bucket width is 1/64 of the value at most. It has a fixed size, and belongs to one thread
 * at a time.
 */
final class Histogram {
    /** Buckets for each power of 2. */
    private static final int STEPS = 64;
    private static final int STEP_BITS = 6;
    private final long[] buckets = new long[STEPS * (64 - STEP_BITS)];
    private long count;
    private long most;
    private double sum;

    /** Adds a value. A value below 0 counts as 0. */
    void add(long value) {
        long positive = Math.max(0, value);
        buckets[bucket(positive)]++;
        count++;
        sum += positive;
        most = Math.max(most, positive);
    }

    /** Adds all values of another histogram. */
    void addAll(Histogram other) {
        for (int index = 0; index < buckets.length; index++) {
            buckets[index] += other.buckets[index];
        }
        count += other.count;
        sum += other.sum;
        most = Math.max(most, other.most);
    }

    /** Returns the number of values. */
    long count() {
        return count;
    }

    /** Returns the mean of the values; 0 if there are none. */
    double mean() {
        return count == 0 ? 0 : sum / count;
    }

    /** Returns a value that is as large as the share {@code q} of all values, at most 1/64 too large; 0 if there are none. */
    long quantile(double q) {
        long rank = Math.max(1, (long) Math.ceil(q * count));
        long seen = 0;
        for (int index = 0; index < buckets.length; index++) {
            seen += buckets[index];
            if (seen >= rank) {
                return Math.min(most, upper(index));
            }
        }
        return 0;
    }

    /** Returns mean, quantiles, maximum and count as an object of JSON, in microseconds if the values are. */
    String json() {
        return String.format(
                Locale.ROOT,
                "{\"mean\":%.0f,\"p50\":%d,\"p90\":%d,\"p99\":%d,\"max\":%d,\"count\":%d}",
                mean(), quantile(0.5), quantile(0.9), quantile(0.99), most, count);
    }

    /** Values below 64 have a bucket each. Above, the six bits behind the highest one choose the bucket. */
    private static int bucket(long value) {
        if (value < STEPS) {
            return (int) value;
        }
        int shift = 63 - Long.numberOfLeadingZeros(value) - STEP_BITS;
        return (shift + 1) * STEPS + (int) (value >>> shift) - STEPS;
    }

    /** Returns the largest value of a bucket. */
    private static long upper(int index) {
        if (index < STEPS) {
            return index;
        }
        int shift = index / STEPS - 1;
        return (((long) (index % STEPS + STEPS + 1)) << shift) - 1;
    }
}
