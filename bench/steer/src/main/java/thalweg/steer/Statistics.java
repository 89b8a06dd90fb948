package thalweg.steer;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/** The operators of STATS behind its parser: statistics of each sensor and kind, and their plots. */
final class Statistics {
    private Statistics() {}

    /** The mean of each run of values of a sensor and kind. */
    static final class Average implements Operator<Stamped.Observation, Stamped.Series> {
        /** Number of values in a run; ours. */
        static final int RUN = 10;
        private final Map<String, double[]> sums = new HashMap<>();

        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Series> out) {
            double[] sum = sums.computeIfAbsent(Keys.of(input), key -> new double[2]);
            sum[0] += input.value();
            sum[1] += 1;
            if (sum[1] >= RUN) {
                out.accept(series(input, "average", sum[0] / sum[1]));
                sum[0] = 0;
                sum[1] = 0;
            }
        }
    }

    /**
     * A Kalman filter of one dimension for each sensor and kind, whose state is the value itself.
     *
     * <p>Source: Welch and Bishop, "An Introduction to the Kalman Filter", section 3, with RIoTBench's constants.
     */
    static final class Kalman implements Operator<Stamped.Observation, Stamped.Observation> {
        /** Variance of the process, Q. */
        static final double PROCESS_NOISE = 0.125;
        /** Variance of a measurement, R. */
        static final double SENSOR_NOISE = 0.32;
        /** First variance of the estimate, P. */
        static final double FIRST_ERROR = 30;
        private final Map<String, double[]> states = new HashMap<>();

        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Observation> out) {
            double[] state = states.computeIfAbsent(Keys.of(input), key -> new double[] {0, FIRST_ERROR});
            double error = state[1] + PROCESS_NOISE;
            double gain = error / (error + SENSOR_NOISE);
            state[0] += gain * (input.value() - state[0]);
            state[1] = (1 - gain) * error;
            out.accept(new Stamped.Observation(input.meta(), input.kind(), state[0]));
        }
    }

    /** A line through the last values of a sensor and kind by least squares, and the values that it predicts. */
    static final class Regression implements Operator<Stamped.Observation, Stamped.Series> {
        /** Number of values through which the line goes. */
        static final int TRAIN = 10;
        /** Number of values that are predicted. */
        static final int PREDICT = 10;
        private final Map<String, Deque<Double>> windows = new HashMap<>();

        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Series> out) {
            Deque<Double> window = windows.computeIfAbsent(Keys.of(input), key -> new ArrayDeque<>(TRAIN));
            if (window.size() == TRAIN) {
                window.removeFirst();
            }
            window.addLast(input.value());
            if (window.size() < TRAIN) {
                return;
            }
            double sumY = 0;
            double sumXy = 0;
            int x = 0;
            for (double y : window) {
                sumY += y;
                sumXy += x++ * y;
            }
            // The sums of 0..n-1 and of their squares have closed forms.
            double sumX = TRAIN * (TRAIN - 1) / 2.0;
            double sumXx = TRAIN * (TRAIN - 1) * (2 * TRAIN - 1) / 6.0;
            double slope = (TRAIN * sumXy - sumX * sumY) / (TRAIN * sumXx - sumX * sumX);
            double begin = (sumY - slope * sumX) / TRAIN;
            double[] predicted = new double[PREDICT];
            for (int ahead = 0; ahead < PREDICT; ahead++) {
                predicted[ahead] = begin + slope * (TRAIN + ahead);
            }
            out.accept(series(input, "regression", predicted));
        }
    }

    /**
     * The approximate number of sensors that sent a kind, by stochastic averaging.
     *
     * <p>Source: Durand and Flajolet, "Loglog Counting of Large Cardinalities", with RIoTBench's 10 buckets; so few have
     * a standard error of 1.3 / sqrt(10), 41 %.
     */
    static final class Distinct implements Operator<Stamped.Observation, Stamped.Series> {
        static final int BUCKETS = 10;
        /** Corrects the mean of the buckets: 0.39701 - (2 pi^2 + ln^2 2) / (48 * 10), the paper's expansion. */
        private static final double CORRECTION = 0.39701 - (2 * Math.PI * Math.PI + 0.48045) / (48.0 * BUCKETS);
        private final int[][] ranks = new int[Kind.COUNT][BUCKETS];

        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Series> out) {
            int[] buckets = ranks[input.kind().ordinal()];
            long hash = Hash.of(input.meta().sensor());
            int bucket = (int) Long.remainderUnsigned(hash, BUCKETS);
            int rank = Long.numberOfLeadingZeros(hash) + 1;
            buckets[bucket] = Math.max(buckets[bucket], rank);
            double sum = 0;
            for (int largest : buckets) {
                sum += largest;
            }
            out.accept(series(input, "distinct", CORRECTION * BUCKETS * Math.pow(2, sum / BUCKETS)));
        }
    }

    /** Draws a run of series, one line for each name, into a picture of grey values. */
    static final class Plot implements Operator<Stamped.Series, Stamped.Bytes> {
        /** Series in a picture; ours. */
        static final int RUN = 100;
        static final int WIDTH = 256;
        static final int HEIGHT = 128;
        /** Most values of a line in a picture. Later ones are left out. */
        private static final int VALUES_MAX = RUN * Regression.PREDICT;
        private final HashMap<String, Line> lines = new HashMap<>();
        private int count;

        @Override
        public void take(Stamped.Series input, Consumer<? super Stamped.Bytes> out) {
            lines.computeIfAbsent(input.name(), name -> new Line()).add(input.values());
            if (++count < RUN) {
                return;
            }
            byte[] picture = new byte[WIDTH * HEIGHT];
            int shade = 0;
            for (Line line : lines.values()) {
                line.draw(picture, (byte) (1 + shade++ % 255));
            }
            lines.clear();
            count = 0;
            out.accept(new Stamped.Bytes(input.moments(), picture));
        }

        private static final class Line implements Serializable {
            private double[] values = new double[16];
            private int size;

            void add(double[] more) {
                int taken = Math.min(more.length, VALUES_MAX - size);
                if (size + taken > values.length) {
                    values = java.util.Arrays.copyOf(values, Math.max(size + taken, 2 * values.length));
                }
                System.arraycopy(more, 0, values, size, taken);
                size += taken;
            }

            void draw(byte[] picture, byte shade) {
                double least = Double.POSITIVE_INFINITY;
                double most = Double.NEGATIVE_INFINITY;
                for (int index = 0; index < size; index++) {
                    least = Math.min(least, values[index]);
                    most = Math.max(most, values[index]);
                }
                double height = most > least ? most - least : 1;
                for (int column = 0; column < WIDTH; column++) {
                    // The value at this column lies between two values, by its distance from both.
                    double place = (double) column * (size - 1) / (WIDTH - 1);
                    int left = (int) place;
                    double right = values[Math.min(left + 1, size - 1)];
                    double value = values[left] + (place - left) * (right - values[left]);
                    int row = (int) Math.round((HEIGHT - 1) * (most - value) / height);
                    picture[Math.max(0, Math.min(HEIGHT - 1, row)) * WIDTH + column] = shade;
                }
            }
        }
    }

    /** Packs a picture. */
    static final class Pack implements Operator<Stamped.Bytes, Stamped.Bytes> {
        @Override
        public void take(Stamped.Bytes input, Consumer<? super Stamped.Bytes> out) {
            Deflater deflater = new Deflater();
            try {
                deflater.setInput(input.bytes());
                deflater.finish();
                // Deflate grows its input by 5 bytes per 16 KB and 6 bytes at most.
                byte[] packed = new byte[input.bytes().length + input.bytes().length / 1000 + 64];
                int length = deflater.deflate(packed);
                out.accept(new Stamped.Bytes(input.moments(), java.util.Arrays.copyOf(packed, length)));
            } finally {
                deflater.end();
            }
        }
    }

    /** Takes the place of an upload: the checksum of the packed picture, without a network. */
    static final class Upload implements Operator<Stamped.Bytes, Stamped.Bytes> {
        @Override
        public void take(Stamped.Bytes input, Consumer<? super Stamped.Bytes> out) {
            CRC32 checksum = new CRC32();
            checksum.update(input.bytes());
            byte[] name = Long.toHexString(checksum.getValue()).getBytes(java.nio.charset.StandardCharsets.US_ASCII);
            out.accept(new Stamped.Bytes(input.moments(), name));
        }
    }

    private static Stamped.Series series(Stamped.Observation input, String operator, double... values) {
        return new Stamped.Series(input.moments(), operator + ' ' + input.kind().label, values);
    }
}
