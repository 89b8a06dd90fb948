package thalweg.steer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * The figures of one run. A query has one worker, so source, operators and sink share this value through
 * {@link #of}.
 *
 * <p>The source starts the run. After the warm-up, what it takes and what arrives at the sink counts, until the end of the
 * run; then a thread of the meter writes the figures into a file.
 */
final class Meter {
    private static final Meter ONE = new Meter();
    /** Pause between two samples of the source's queue. */
    private static final long SAMPLE_MS = 100;

    /** Input lines that were not understood. */
    final LongAdder bad = new LongAdder();
    /** Observations of unknown sensors. */
    final LongAdder unknown = new LongAdder();
    /** Records dropped because an observation of theirs did not come. */
    final LongAdder unjoined = new LongAdder();
    /** Records that the source took while figures counted. */
    private final LongAdder taken = new LongAdder();
    private final Histogram latencyUs = new Histogram();
    private final Histogram insideUs = new Histogram();
    private volatile Run run;

    /** Returns the meter of this worker. */
    static Meter of() {
        return ONE;
    }

    /** Starts a run: its figures are written into the file of its plan when it ends. */
    synchronized void start(Plan plan, Offered offered, long startNs) {
        if (run != null) {
            throw new IllegalStateException("a worker has one run");
        }
        long begin = startNs + TimeUnit.SECONDS.toNanos(plan.warmupSeconds());
        run = new Run(plan, offered, begin, begin + TimeUnit.SECONDS.toNanos(plan.seconds()));
        Thread writer = new Thread(this::watch, "steer-meter");
        writer.setDaemon(true);
        writer.start();
    }

    /** Counts a record that the source took. */
    void took(long nowNs) {
        if (counts(nowNs)) {
            taken.increment();
        }
    }

    /** Counts a record that arrived at the sink. */
    synchronized void arrived(Stamped.Moments moments, long nowNs) {
        if (counts(nowNs)) {
            latencyUs.add((nowNs - moments.due()) / 1_000);
            insideUs.add((nowNs - moments.sent()) / 1_000);
        }
    }

    private boolean counts(long nowNs) {
        Run mine = run;
        return mine != null && nowNs >= mine.beginNs && nowNs < mine.endNs;
    }

    private void watch() {
        Run mine = run;
        long samples = 0;
        double lengths = 0;
        try {
            for (long now = System.nanoTime(); now < mine.endNs; now = System.nanoTime()) {
                if (now >= mine.beginNs) {
                    lengths += mine.offered.behind(now);
                    samples++;
                }
                Thread.sleep(SAMPLE_MS);
            }
            write(mine, samples == 0 ? 0 : lengths / samples);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        } catch (IOException failed) {
            System.err.println("could not write " + mine.plan.results() + ": " + failed);
        }
    }

    private synchronized void write(Run mine, double queueMean) throws IOException {
        Plan plan = mine.plan;
        String text = String.format(
                Locale.ROOT,
                "{\"workload\":\"%s\",\"engine\":\"%s\",\"offered_per_s\":%s,\"throughput_per_s\":%.1f,\"results_per_s\":%.2f,"
                        + "\"events_in\":%d,\"results_out\":%d,\"bad\":%d,\"unknown\":%d,\"unjoined\":%d,\"seconds\":%d,"
                        + "\"latency_us\":%s,\"inside_latency_us\":%s,\"source_queue_mean\":%.1f,\"source_queue_end\":%d}",
                plan.workload(), plan.workload().equals(Operators.LINEAR_ROAD) ? "flink" : "storm", plan.rate(), (double) taken.sum() / plan.seconds(), (double) latencyUs.count() / plan.seconds(),
                taken.sum(), latencyUs.count(), bad.sum(), unknown.sum(), unjoined.sum(), plan.seconds(),
                latencyUs.json(), insideUs.json(), queueMean, mine.offered.behind(mine.endNs));
        // A reader that waits for the file sees all of it or nothing.
        Path file = Path.of(plan.results());
        Path part = Path.of(plan.results() + ".part");
        Files.writeString(part, text + "\n");
        Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private record Run(Plan plan, Offered offered, long beginNs, long endNs) {}
}
