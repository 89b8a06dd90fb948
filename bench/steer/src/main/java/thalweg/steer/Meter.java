package thalweg.steer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.BitSet;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * The figures of one run. A query has one worker, so source, operators and sink share this value through
 * {@link #of}.
 *
 * <p>The source starts the run. After the warm-up, records that the source takes and results that arrive at the sink count,
 * until the end of the run; then a thread of the meter writes the figures into a file. Each event counts by the moment that
 * its thread read, so figures do not depend on when that thread of the meter runs.
 *
 * <p>ETL has one result for each record. A record that is due and has neither a result nor a reason to have none is overdue
 * at the end, and its age counts in a figure of its own. A run that leaves records waiting would look fast without it.
 */
final class Meter {
    private static final Meter ONE = new Meter();
    /** Pause between two samples of the source's queue. */
    private static final long SAMPLE_MS = 100;
    /**
     * Most records of a run whose overdue ones are found: a bit for each is 16 MiB. A run with more records has no such
     * figure.
     */
    static final long NUMBERS_MAX = 1L << 27;

    /** Input lines that were not understood. */
    final LongAdder bad = new LongAdder();
    /** Observations of unknown sensors that were dropped, by the Bloom filter or, if it let them pass, by the annotation. */
    final LongAdder unknown = new LongAdder();
    /** Records dropped because an observation of theirs did not come. */
    final LongAdder unjoined = new LongAdder();
    /** Records that the source took while figures counted. */
    private final LongAdder taken = new LongAdder();
    /** Records that the source took before the end of the run, with the warm-up. Written by the source's thread alone. */
    private volatile long takenBeforeEnd;
    private final Histogram latencyUs = new Histogram();
    private final Histogram insideUs = new Histogram();
    private volatile Run run;

    /** Returns the meter of this worker. */
    static Meter of() {
        return ONE;
    }

    /** Starts a run: its figures are written into the file of its plan when it ends. */
    void start(Plan plan, Offered offered, long startNs) {
        begin(plan, offered, startNs);
        Thread writer = new Thread(this::watch, "steer-meter");
        writer.setDaemon(true);
        writer.start();
    }

    /** Starts a run whose figures nobody writes. */
    synchronized void begin(Plan plan, Offered offered, long startNs) {
        if (run != null) {
            throw new IllegalStateException("a worker has one run");
        }
        long begin = startNs + TimeUnit.SECONDS.toNanos(plan.warmupSeconds());
        long end = begin + TimeUnit.SECONDS.toNanos(plan.seconds());
        boolean isOneToOne = plan.workload().equals(Operators.ETL) && offered.due(end) <= NUMBERS_MAX;
        run = new Run(plan, offered, begin, end, isOneToOne ? new BitSet() : null);
    }

    /** Counts a record that the source took, by its number from 0. */
    void took(long number, long nowNs) {
        Run mine = run;
        if (mine != null && nowNs < mine.endNs) {
            takenBeforeEnd = number + 1;
        }
        if (counts(nowNs)) {
            taken.increment();
        }
    }

    /** Notes that a record has no result, because its line is not understood or its sensor is unknown. */
    synchronized void dropped(Stamped.Moments moments, long nowNs) {
        settle(moments, nowNs);
    }

    /** Counts a result that arrived at the sink. */
    synchronized void arrived(Stamped.Moments moments, long nowNs) {
        settle(moments, nowNs);
        if (counts(nowNs)) {
            latencyUs.add((nowNs - moments.due()) / 1_000);
            insideUs.add((nowNs - moments.sent()) / 1_000);
        }
    }

    /** Notes that nothing is to come any more of a record. */
    private void settle(Stamped.Moments moments, long nowNs) {
        Run mine = run;
        if (mine != null && mine.settled != null && nowNs < mine.endNs) {
            // The number is below NUMBERS_MAX, since it was due before the end.
            mine.settled.set((int) moments.number());
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
                Thread.sleep(Math.min(SAMPLE_MS, 1 + TimeUnit.NANOSECONDS.toMillis(mine.endNs - now)));
            }
            write(mine.plan, figures(samples == 0 ? 0 : lengths / samples));
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        } catch (IOException failed) {
            System.err.println("could not write " + mine.plan.results() + ": " + failed);
        }
    }

    /** Returns the figures as an object of JSON. */
    synchronized String figures(double queueMean) {
        Run mine = run;
        Plan plan = mine.plan;
        String engine = plan.workload().equals(Operators.LINEAR_ROAD) ? "flink" : "storm";
        double seconds = plan.seconds();
        return String.format(
                Locale.ROOT,
                "{\"workload\":\"%s\",\"engine\":\"%s\",\"offered_per_s\":%s,\"throughput_per_s\":%.1f,\"results_per_s\":%.2f,"
                        + "\"events_in\":%d,\"results_out\":%d,\"bad\":%d,\"unknown\":%d,\"unjoined\":%d,\"seconds\":%d,"
                        + "\"latency_us\":%s,\"inside_latency_us\":%s,\"overdue\":%s,"
                        + "\"source_queue_mean\":%.1f,\"source_queue_end\":%d}",
                plan.workload(), engine, plan.rate(), taken.sum() / seconds, latencyUs.count() / seconds,
                taken.sum(), latencyUs.count(), bad.sum(), unknown.sum(), unjoined.sum(), plan.seconds(),
                latencyUs.json(), insideUs.json(), overdue(mine),
                queueMean, mine.offered.due(mine.endNs) - takenBeforeEnd);
    }

    /**
     * Returns the number of overdue records at the end of the run, and the latencies of results together with the ages of
     * these records, as an object of JSON; {@code null} if there is no such figure.
     */
    private String overdue(Run mine) {
        if (mine.settled == null) {
            return "null";
        }
        Histogram together = new Histogram();
        together.addAll(latencyUs);
        int due = (int) mine.offered.due(mine.endNs);
        for (int number = mine.settled.nextClearBit(0); number < due; number = mine.settled.nextClearBit(number + 1)) {
            together.add((mine.endNs - mine.offered.dueNs(number)) / 1_000);
        }
        long count = together.count() - latencyUs.count();
        return "{\"count\":" + count + ",\"latency_us\":" + together.json() + '}';
    }

    private static void write(Plan plan, String text) throws IOException {
        // A reader that waits for the file sees all of it or nothing.
        Path file = Path.of(plan.results());
        Path part = Path.of(plan.results() + ".part");
        Files.writeString(part, text + "\n");
        Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /**
     * A run. {@code settled} has the numbers of records of which nothing is to come; it is null if they are not
     * kept.
     */
    private record Run(Plan plan, Offered offered, long beginNs, long endNs, BitSet settled) {}
}
