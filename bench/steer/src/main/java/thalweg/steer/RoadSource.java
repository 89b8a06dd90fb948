package thalweg.steer;

import java.io.IOException;
import java.io.Serializable;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/**
 * Sends the records of a {@link Road} at a fixed rate. The number of those that are due and were not sent is Flink's
 * {@code pendingRecords}. There is one reader and nothing is restored: a run that fails is over.
 */
final class RoadSource implements Source<Road.Report, RoadSource.None, Long> {
    private static final long serialVersionUID = 1;
    private final Plan plan;
    private final int windowMs;
    private final int spinUs;

    RoadSource(Plan plan, int windowMs, int spinUs) {
        this.plan = plan;
        this.windowMs = windowMs;
        this.spinUs = spinUs;
    }

    /** A split, of which there is none. */
    record None() implements SourceSplit, Serializable {
        @Override
        public String splitId() {
            return "none";
        }
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SourceReader<Road.Report, None> createReader(SourceReaderContext context) {
        return new Reader(context);
    }

    private final class Reader implements SourceReader<Road.Report, None> {
        private final Road road = new Road(plan.rate(), windowMs);
        private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(work -> {
            Thread thread = new Thread(work, "steer-timer");
            thread.setDaemon(true);
            return thread;
        });
        private volatile Offered offered;

        Reader(SourceReaderContext context) {
            context.metricGroup().setPendingRecordsGauge(() -> offered == null ? 0L : offered.length(System.nanoTime()));
        }

        @Override
        public void start() {
            long start = System.nanoTime();
            long count = (long) Math.ceil(plan.rate() * (plan.warmupSeconds() + plan.seconds()));
            offered = new Offered(start, plan.rate(), count, plan.queueRecords());
            Meter.of().start(plan, offered, start);
        }

        @Override
        public InputStatus pollNext(ReaderOutput<Road.Report> output) {
            long now = System.nanoTime();
            long number = offered.take(now);
            if (number < 0) {
                return InputStatus.NOTHING_AVAILABLE;
            }
            Meter.of().took(number, now);
            Spin.use(spinUs);
            Road.Report report = road.record(number);
            report.dueNs = offered.dueNs(number);
            report.sentNs = now;
            // Event time begins at 0 and passes as fast as the clock.
            output.collect(report, TimeUnit.NANOSECONDS.toMillis((long) (number * (1e9 / plan.rate()))));
            return InputStatus.MORE_AVAILABLE;
        }

        /** Looks again in a millisecond, as Storm's spout does. */
        @Override
        public CompletableFuture<Void> isAvailable() {
            if (offered.behind(System.nanoTime()) > 0) {
                return CompletableFuture.completedFuture(null);
            }
            CompletableFuture<Void> later = new CompletableFuture<>();
            timer.schedule(() -> later.complete(null), 1, TimeUnit.MILLISECONDS);
            return later;
        }

        @Override
        public List<None> snapshotState(long checkpoint) {
            return List.of();
        }

        @Override
        public void addSplits(List<None> splits) {}

        @Override
        public void notifyNoMoreSplits() {}

        @Override
        public void close() {
            timer.shutdownNow();
        }
    }

    @Override
    public SplitEnumerator<None, Long> createEnumerator(SplitEnumeratorContext<None> context) {
        return new NoSplits();
    }

    @Override
    public SplitEnumerator<None, Long> restoreEnumerator(SplitEnumeratorContext<None> context, Long state) {
        return new NoSplits();
    }

    private static final class NoSplits implements SplitEnumerator<None, Long> {
        @Override
        public void start() {}

        @Override
        public void handleSplitRequest(int subtask, String host) {}

        @Override
        public void addSplitsBack(List<None> splits, int subtask) {}

        @Override
        public void addReader(int subtask) {}

        @Override
        public Long snapshotState(long checkpoint) {
            return 0L;
        }

        @Override
        public void close() {}
    }

    @Override
    public SimpleVersionedSerializer<None> getSplitSerializer() {
        return new Empty<>(new None());
    }

    @Override
    public SimpleVersionedSerializer<Long> getEnumeratorCheckpointSerializer() {
        return new Empty<>(0L);
    }

    /** Writes nothing, and reads the one value that there is. */
    private record Empty<T>(T value) implements SimpleVersionedSerializer<T> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(T value) {
            return new byte[0];
        }

        @Override
        public T deserialize(int version, byte[] bytes) throws IOException {
            return value;
        }
    }
}
