package thalweg.steer;

import java.time.Duration;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * Runs Linear Road as a job of Flink.
 *
 * <pre>
 *                                +- standing - accidents ----+
 * source - type - report --------+- speeds -+                +- merge - sink
 *                                +- counts -+- tolls --------+
 * </pre>
 *
 * <p>Source: the short form of the Enjima paper, section 5.1.1, as `thalweg bench lrb` has it. A minute is
 * {@link Options#windowMs} long, accidents are looked for over two minutes, every half of one.
 */
final class OnFlink implements Main.Engine {
    /** Reports of a car at one place in two minutes from which on it is stopped. */
    private static final int STOPPED_REPORTS = 4;
    /** Stopped cars at one place from which on there is an accident. */
    private static final int ACCIDENT_CARS = 2;
    private JobClient job;

    /** A part of a segment's result. */
    public enum Part {
        SPEED,
        COUNT,
        TOLL,
        ACCIDENT
    }

    /** A value of a segment, with the moments of the last record that it is made of. */
    public static final class Value {
        public Part part;
        public long segment;
        public double number;
        public long count;
        public long dueNs;
        public long sentNs;

        void see(long due, long sent) {
            if (due >= dueNs) {
                dueNs = due;
                sentNs = sent;
            }
        }
    }

    /** Reports at one place: how often each car was there. */
    public static final class Standing {
        public Map<Long, Integer> cars = new java.util.HashMap<>();
        public Value value = new Value();
    }

    @Override
    public void start(Options options, Plan plan, String jar) throws Exception {
        var environment = StreamExecutionEnvironment.createRemoteEnvironment(options.restHost, options.restPort, jar);
        environment.setParallelism(1);
        // Each operator is a task with a thread of its own, which is what is steered.
        environment.disableOperatorChaining();
        build(environment, options, plan);
        job = environment.executeAsync(options.name);
    }

    @Override
    public void end() throws Exception {
        job.cancel().get(60, java.util.concurrent.TimeUnit.SECONDS);
    }

    private static void build(StreamExecutionEnvironment environment, Options options, Plan plan) {
        Map<String, Integer> spins = options.spinUs;
        Duration minute = Duration.ofMillis(options.windowMs);
        int type = spins.getOrDefault("type", 0);
        int report = spins.getOrDefault("report", 0);
        int standing = spins.getOrDefault("standing", 0);
        DataStream<Road.Report> reports = environment
                .fromSource(
                        new RoadSource(plan, options.windowMs, spins.getOrDefault("source", 0)),
                        WatermarkStrategy.forMonotonousTimestamps(), "source")
                .filter(record -> {
                    Spin.use(type);
                    return record.isReport;
                })
                .name("type")
                .map(record -> {
                    Spin.use(report);
                    return record;
                })
                .returns(Road.Report.class)
                .name("report");
        DataStream<Value> accidents = reports
                .filter(record -> {
                    Spin.use(standing);
                    return record.speed == 0 && record.lane != Road.EXIT_LANE;
                })
                .name("standing")
                .keyBy(Road.Report::placeKey)
                .window(SlidingEventTimeWindows.of(minute.multipliedBy(2), minute.dividedBy(2)))
                .aggregate(new Stopped(spins.getOrDefault("accidents", 0)), new Accident())
                .name("accidents");
        DataStream<Value> speeds = reports.keyBy(Road.Report::segmentKey)
                .window(TumblingEventTimeWindows.of(minute))
                .aggregate(new Mean(Part.SPEED, spins.getOrDefault("speeds", 0)))
                .name("speeds");
        DataStream<Value> counts = reports.keyBy(Road.Report::segmentKey)
                .window(TumblingEventTimeWindows.of(minute))
                .aggregate(new Mean(Part.COUNT, spins.getOrDefault("counts", 0)))
                .name("counts");
        // Flink's own joins of windows add an operator named Map for each input. A union has none, so each operator here is one
        // task with a name of its own.
        DataStream<Value> tolls = speeds.union(counts)
                .keyBy(value -> value.segment)
                .window(TumblingEventTimeWindows.of(minute))
                .apply(new Tolls(spins.getOrDefault("tolls", 0)))
                .name("tolls");
        tolls.union(accidents)
                .keyBy(value -> value.segment)
                .window(TumblingEventTimeWindows.of(minute))
                .apply(new Merge(spins.getOrDefault("merge", 0)))
                .name("merge")
                .sinkTo(new Measured(spins.getOrDefault("sink", 0)))
                .name("sink");
    }

    /** Returns the toll of a segment without an accident, for a minute with this many reports at this mean speed. */
    static long toll(long reports, double speed) {
        return reports > 50 && speed < 40 ? 2 * (reports - 50) * (reports - 50) : 0;
    }

    /** Counts and averages the reports of a segment. */
    private record Mean(Part part, int spinUs) implements AggregateFunction<Road.Report, Value, Value> {
        @Override
        public Value createAccumulator() {
            return new Value();
        }

        @Override
        public Value add(Road.Report report, Value value) {
            Spin.use(spinUs);
            value.segment = report.segmentKey();
            value.count++;
            value.number += report.speed;
            value.see(report.dueNs, report.sentNs);
            return value;
        }

        @Override
        public Value getResult(Value sum) {
            Value mean = new Value();
            mean.part = part;
            mean.segment = sum.segment;
            mean.count = sum.count;
            mean.number = sum.number / sum.count;
            mean.see(sum.dueNs, sum.sentNs);
            return mean;
        }

        @Override
        public Value merge(Value left, Value right) {
            left.count += right.count;
            left.number += right.number;
            left.see(right.dueNs, right.sentNs);
            return left;
        }
    }

    /** Counts the cars that are stopped at a place. */
    private record Stopped(int spinUs) implements AggregateFunction<Road.Report, Standing, Value> {
        @Override
        public Standing createAccumulator() {
            return new Standing();
        }

        @Override
        public Standing add(Road.Report report, Standing standing) {
            Spin.use(spinUs);
            standing.value.part = Part.ACCIDENT;
            standing.value.segment = report.segmentKey();
            standing.value.see(report.dueNs, report.sentNs);
            standing.cars.merge(report.car, 1, Integer::sum);
            return standing;
        }

        @Override
        public Value getResult(Standing standing) {
            Value value = standing.value;
            value.count = standing.cars.values().stream().filter(times -> times >= STOPPED_REPORTS).count();
            return value;
        }

        @Override
        public Standing merge(Standing left, Standing right) {
            right.cars.forEach((car, times) -> left.cars.merge(car, times, Integer::sum));
            left.value.see(right.value.dueNs, right.value.sentNs);
            return left;
        }
    }

    /** Lets places with enough stopped cars pass. */
    private static final class Accident implements WindowFunction<Value, Value, Long, TimeWindow> {
        @Override
        public void apply(Long place, TimeWindow window, Iterable<Value> stopped, Collector<Value> out) {
            for (Value value : stopped) {
                if (value.count >= ACCIDENT_CARS) {
                    out.collect(value);
                }
            }
        }
    }

    /** Joins the mean speed of a segment with its number of reports. */
    private record Tolls(int spinUs) implements WindowFunction<Value, Value, Long, TimeWindow> {
        @Override
        public void apply(Long segment, TimeWindow window, Iterable<Value> parts, Collector<Value> out) {
            Spin.use(spinUs);
            Value result = new Value();
            result.part = Part.TOLL;
            result.segment = segment;
            double speed = Double.NaN;
            for (Value value : parts) {
                result.see(value.dueNs, value.sentNs);
                if (value.part == Part.SPEED) {
                    speed = value.number;
                } else {
                    result.count = value.count;
                }
            }
            // Both parts come of the same reports. A window without one of them has no toll.
            if (result.count > 0 && !Double.isNaN(speed)) {
                result.number = toll(result.count, speed);
                out.collect(result);
            }
        }
    }

    /** Sets the toll of a segment with accidents to 0, and counts the windows of places that had one. */
    private record Merge(int spinUs) implements WindowFunction<Value, Value, Long, TimeWindow> {
        @Override
        public void apply(Long segment, TimeWindow window, Iterable<Value> parts, Collector<Value> out) {
            Spin.use(spinUs);
            Value result = new Value();
            result.part = Part.TOLL;
            result.segment = segment;
            double toll = 0;
            for (Value value : parts) {
                result.see(value.dueNs, value.sentNs);
                if (value.part == Part.TOLL) {
                    toll = value.number;
                } else {
                    result.count++;
                }
            }
            result.number = result.count > 0 ? 0 : toll;
            out.collect(result);
        }
    }

    /** Gives each result to the {@link Meter}. */
    private record Measured(int spinUs) implements Sink<Value> {
        @Override
        public SinkWriter<Value> createWriter(WriterInitContext context) {
            return new SinkWriter<>() {
                @Override
                public void write(Value value, Context context) {
                    Spin.use(spinUs);
                    var moments = new Stamped.Moments(Stamped.NO_NUMBER, value.dueNs, value.sentNs);
                    Meter.of().arrived(moments, System.nanoTime());
                }

                @Override
                public void flush(boolean isEnd) {}

                @Override
                public void close() {}
            };
        }
    }
}
