package thalweg.steer;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;

/** The operators of STATS behind its parser: statistics of each sensor and kind, and their plots. Missing values are ignored. */
final class Statistics {
    private Statistics() {}

    /** The mean of each block of values of a sensor and kind. */
    static final class Average implements Operator<Stamped.Observation, Stamped.Point> {
        /** Number of values in a block, as in RIoTBench. */
        static final int BLOCK = 5;
        private final Map<String, double[]> sums = new HashMap<>();

        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Point> out) {
            if (Double.isNaN(input.value())) {
                return;
            }
            double[] sum = sums.computeIfAbsent(Keys.of(input), key -> new double[2]);
            sum[0] += input.value();
            sum[1] += 1;
            if (sum[1] >= BLOCK) {
                out.accept(point(input, Stamped.Statistic.AVERAGE, input.meta().sensor(), sum[0] / sum[1]));
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
            if (Double.isNaN(input.value())) {
                return;
            }
            double[] state = states.computeIfAbsent(Keys.of(input), key -> new double[] {0, FIRST_ERROR});
            double error = state[1] + PROCESS_NOISE;
            double gain = error / (error + SENSOR_NOISE);
            state[0] += gain * (input.value() - state[0]);
            state[1] = (1 - gain) * error;
            out.accept(new Stamped.Observation(input.meta(), input.kind(), state[0]));
        }
    }

    /** A line through the last values of a sensor and kind by least squares, and the mean of the values that it predicts. */
    static final class Regression implements Operator<Stamped.Observation, Stamped.Point> {
        /** Number of values through which the line goes. */
        static final int TRAIN = 10;
        /** Number of values that are predicted. */
        static final int PREDICT = 10;
        private final Map<String, Deque<Double>> windows = new HashMap<>();

        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Point> out) {
            Deque<Double> window = windows.computeIfAbsent(Keys.of(input), key -> new ArrayDeque<>(TRAIN));
            if (window.size() == TRAIN) {
                window.removeFirst();
            }
            window.addLast(input.value());
            if (window.size() < TRAIN) {
                return;
            }
            double centre = (TRAIN - 1) / 2.0;
            double mean = window.stream().mapToDouble(Double::doubleValue).sum() / TRAIN;
            double product = 0;
            double square = 0;
            int place = 0;
            for (double value : window) {
                double distance = place++ - centre;
                product += distance * (value - mean);
                square += distance * distance;
            }
            // The mean of the predicted values is the value of the line at the middle of their places.
            double middle = TRAIN + (PREDICT - 1) / 2.0;
            double predicted = mean + product / square * (middle - centre);
            out.accept(point(input, Stamped.Statistic.PREDICTION, input.meta().sensor(), predicted));
        }
    }

    /**
     * The approximate number of sensors that sent a kind, by the greatest ranks of hashes. A rank is the place of the lowest
     * bit that is set, counted from 1.
     *
     * <p>Source: Durand and Flajolet, "Loglog Counting of Large Cardinalities", section 2, with RIoTBench's 2^10 registers.
     * While that estimate is at most 2.5 for each register and a register is empty, the result is that of Whang et al.,
     * "A Linear-Time Probabilistic Counting Algorithm for Database Applications".
     */
    static final class Distinct implements Operator<Stamped.Observation, Stamped.Point> {
        /** Bits of a hash that choose a register. */
        private static final int REGISTER_BITS = 10;
        private static final int REGISTERS = 1 << REGISTER_BITS;
        /** Factor of the estimate by a large number of registers. */
        private static final double ALPHA = 0.39701;
        private final int[][] ranks = new int[Kind.COUNT][REGISTERS];
        private final int[] sums = new int[Kind.COUNT];
        private final int[] used = new int[Kind.COUNT];

        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Point> out) {
            if (Double.isNaN(input.value())) {
                return;
            }
            int kind = input.kind().ordinal();
            long hash = Hash.of(input.meta().sensor());
            int register = (int) hash & (REGISTERS - 1);
            int rank = Long.numberOfTrailingZeros(hash >>> REGISTER_BITS) + 1;
            int before = ranks[kind][register];
            if (before < rank) {
                used[kind] += before == 0 ? 1 : 0;
                sums[kind] += rank - before;
                ranks[kind][register] = rank;
            }
            double estimate = ALPHA * REGISTERS * Math.pow(2, (double) sums[kind] / REGISTERS);
            double empty = REGISTERS - used[kind];
            if (empty > 0 && estimate <= 2.5 * REGISTERS) {
                estimate = REGISTERS * Math.log(REGISTERS / empty);
            }
            out.accept(point(input, Stamped.Statistic.SENSORS, "", estimate));
        }
    }

    /** Gathers the points of each plot. Points of one statistic and kind make a plot. */
    static final class Accumulate implements Operator<Stamped.Point, Stamped.Points> {
        /** Number of points of a plot, as in our engine's query. */
        static final int POINTS = 100;
        private final Map<String, Gathered> waiting = new HashMap<>();

        @Override
        public void take(Stamped.Point input, Consumer<? super Stamped.Points> out) {
            String key = input.statistic().label + ' ' + input.kind().label;
            Gathered gathered = waiting.computeIfAbsent(key, name -> new Gathered());
            gathered.points.add(input);
            if (gathered.points.size() == POINTS) {
                List<Stamped.Point> points = List.copyOf(gathered.points);
                gathered.points.clear();
                out.accept(
                        new Stamped.Points(input.moments(), input.statistic(), input.kind(), gathered.number++, points));
            }
        }

        /** Points that wait, and the number of plots before them. */
        private static final class Gathered implements Serializable {
            private long number;
            private final ArrayList<Stamped.Point> points = new ArrayList<>(POINTS);
        }
    }

    /** Draws points as SVG, with a line for each sensor. Times and values fill the drawing. */
    static final class Plot implements Operator<Stamped.Points, Stamped.Plot> {
        private static final int WIDTH = 640;
        private static final int HEIGHT = 360;

        @Override
        public void take(Stamped.Points input, Consumer<? super Stamped.Plot> out) {
            Range times = Range.of(input.points(), Stamped.Point::timeMs);
            Range values = Range.of(input.points(), Stamped.Point::value);
            TreeMap<String, StringBuilder> lines = new TreeMap<>();
            for (Stamped.Point point : input.points()) {
                long x = (long) Math.rint(times.share(point.timeMs()) * WIDTH);
                long y = (long) Math.rint(HEIGHT - values.share(point.value()) * HEIGHT);
                StringBuilder line = lines.computeIfAbsent(point.sensor(), sensor -> new StringBuilder());
                line.append(line.isEmpty() ? "" : " ").append(x).append(',').append(y);
            }
            StringBuilder svg = new StringBuilder(2_048);
            svg.append("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"").append(WIDTH);
            svg.append("\" height=\"").append(HEIGHT).append("\"><title>").append(input.statistic().label).append(" of ");
            svg.append(input.kind().label).append(", plot ").append(input.number()).append("</title>");
            for (StringBuilder line : lines.values()) {
                svg.append("<polyline fill=\"none\" stroke=\"black\" points=\"").append(line).append("\"/>");
            }
            svg.append("</svg>");
            out.accept(
                    new Stamped.Plot(input.moments(), input.statistic(), input.kind(), input.number(), svg.toString()));
        }

        private record Range(double least, double most) {
            static Range of(List<Stamped.Point> points, ToDoubleFunction<Stamped.Point> number) {
                double least = Double.POSITIVE_INFINITY;
                double most = Double.NEGATIVE_INFINITY;
                for (Stamped.Point point : points) {
                    least = Math.min(least, number.applyAsDouble(point));
                    most = Math.max(most, number.applyAsDouble(point));
                }
                return new Range(least, most);
            }

            /** Returns where a number lies in the range, from 0 to 1; in the middle if the range has one number only. */
            double share(double number) {
                return least < most ? (number - least) / (most - least) : 0.5;
            }
        }
    }

    /** Takes the place of an upload: names the plot, and computes its checksum, without a network. */
    static final class Upload implements Operator<Stamped.Plot, Stamped.Upload> {
        @Override
        public void take(Stamped.Plot input, Consumer<? super Stamped.Upload> out) {
            String name = input.statistic().label + '-' + input.kind().label + '-' + input.number() + ".svg";
            out.accept(new Stamped.Upload(input.moments(), name, Hash.of(input.svg())));
        }
    }

    private static Stamped.Point point(
            Stamped.Observation input, Stamped.Statistic statistic, String sensor, double value) {
        Stamped.Meta meta = input.meta();
        return new Stamped.Point(meta.moments(), statistic, input.kind(), sensor, meta.timeMs(), value);
    }
}
