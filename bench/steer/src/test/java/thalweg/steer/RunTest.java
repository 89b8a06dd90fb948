package thalweg.steer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunTest {
    @TempDir
    Path directory;

    private static final String LINE = ",{\"e\":[{\"n\":\"source\",\"sv\":\"a\"}],\"bt\":";

    @Test
    void stampsRiseFromCycleToCycle() throws IOException {
        var replay = new Replay("test", List.of("1000" + LINE + "1000}", "3000" + LINE + "3000}"));
        assertEquals("1000" + LINE + "1000}", replay.line(0));
        assertEquals("3000" + LINE + "3000}", replay.line(1));
        // The span of 2000 ms and a second.
        assertEquals("4000" + LINE + "4000}", replay.line(2));
        assertEquals("6000" + LINE + "6000}", replay.line(3));
        assertEquals(1, replay.sensors().size());
    }

    @Test
    void otherFilesAreRefusedWithTheLine() {
        for (List<String> lines : List.of(List.<String>of(), List.of("1" + LINE + "1}", "a,b"), List.of("1" + LINE + "2}"))) {
            assertThrows(IOException.class, () -> new Replay("test", lines), lines.toString());
        }
    }

    @Test
    void recordsAreDueByTheClock() {
        var offered = new Offered(1_000, 10, 25, 4);
        assertEquals(-1, offered.take(999));
        assertEquals(0, offered.take(1_000));
        assertEquals(-1, offered.take(1_000));
        assertEquals(100_001_000, offered.dueNs(1));
        assertEquals(1, offered.take(100_001_001));
        assertEquals(3, offered.length(400_001_001));
        // Nine are due of which two were taken; the reported length has a bound.
        assertEquals(7, offered.behind(800_001_001));
        assertEquals(4, offered.length(800_001_001));
        assertEquals(23, offered.behind(Long.MAX_VALUE));
    }

    @Test
    void quantilesAreThoseOfTheSortedValues() {
        var random = new Random(7);
        var histogram = new Histogram();
        assertEquals(0, histogram.quantile(0.5));
        long[] values = random.longs(10_000, 0, 5_000_000).map(it -> it >> random.nextInt(20)).toArray();
        for (long value : values) {
            histogram.add(value);
        }
        Arrays.sort(values);
        for (double q : new double[] {0.001, 0.5, 0.9, 0.99, 1}) {
            long exact = values[(int) Math.ceil(q * values.length) - 1];
            long found = histogram.quantile(q);
            assertTrue(exact <= found && found <= exact + exact / 64 + 1, q + ": " + found + " in place of " + exact);
        }
        histogram.add(Long.MAX_VALUE);
        assertEquals(Long.MAX_VALUE, histogram.quantile(1));
        assertTrue(histogram.json().endsWith("\"count\":10001}"));
    }

    private static final long MS = 1_000_000;

    /** A run of two seconds of which one counts, at 10 records per second: number i is due after i * 100 ms. */
    private static Meter meter(String query, double rate) {
        var meter = new Meter();
        var offered = new Offered(0, rate, (long) Math.ceil(rate * 2), 100);
        meter.begin(new Plan(query, "none", rate, 1, 1, 100, "none", false), offered, 0);
        return meter;
    }

    private static void arrive(Meter meter, long number, long ms) {
        meter.arrived(new Stamped.Moments(number, number * 100 * MS, number * 100 * MS), ms * MS);
    }

    @Test
    void aRecordWithoutAResultCountsWithItsAge() {
        Meter meter = meter("etl", 10);
        for (long number = 0; number < 15; number++) {
            meter.took(number, number * 100 * MS);
        }
        // Taken after the end, so it waited in front of the source at the end.
        meter.took(15, 2_000 * MS);
        for (long number = 0; number < 12; number++) {
            arrive(meter, number, number * 100 + 50);
        }
        meter.dropped(new Stamped.Moments(13, 0, 0), 1_400 * MS);
        // Both are after the end.
        arrive(meter, 12, 2_000);
        meter.dropped(new Stamped.Moments(14, 0, 0), 2_001 * MS);
        String figures = meter.figures(0);
        // Two results came after the warm-up. Number 12 and numbers 14 to 19 are overdue, 800 ms and 600 to 100 ms old.
        assertTrue(figures.contains("\"throughput_per_s\":5.0,\"results_per_s\":2.00,"), figures);
        assertTrue(figures.contains("\"latency_us\":{\"mean\":50000,\"p50\":50000,"), figures);
        String overdue = figures.substring(figures.indexOf("\"overdue\""));
        // The mean of 50, 50, 800 and 100 to 600.
        assertTrue(overdue.startsWith("\"overdue\":{\"count\":7,\"latency_us\":{\"mean\":333333,"), overdue);
        assertTrue(overdue.contains("\"max\":800000,\"count\":9}}"), overdue);
        // Numbers 15 to 19; the other two wait behind the source.
        assertTrue(overdue.endsWith("\"source_queue_end\":5}"), overdue);
    }

    @Test
    void nothingIsOverdueWithAllResults() {
        Meter meter = meter("etl", 10);
        for (long number = 0; number < 20; number++) {
            meter.took(number, number * 100 * MS);
            arrive(meter, number, number * 100);
        }
        String figures = meter.figures(0);
        assertTrue(figures.contains("\"overdue\":{\"count\":0,"), figures);
        assertTrue(figures.endsWith("\"source_queue_end\":0}"), figures);
    }

    @Test
    void queriesOfManyRecordsForAResultHaveNoOverdueOnes() {
        for (Meter meter : List.of(meter("stats", 10), meter(Operators.LINEAR_ROAD, 10), meter("etl", Meter.NUMBERS_MAX))) {
            meter.arrived(new Stamped.Moments(Stamped.NO_NUMBER, 0, 0), 1_500 * MS);
            String figures = meter.figures(0);
            assertTrue(figures.contains("\"results_out\":1,") && figures.contains("\"overdue\":null,"), figures);
        }
    }

    @Test
    void spinningUsesCpuTime() {
        var threads = java.lang.management.ManagementFactory.getThreadMXBean();
        long begin = threads.getCurrentThreadCpuTime();
        Spin.use(2_000);
        assertTrue(threads.getCurrentThreadCpuTime() - begin >= 2_000_000);
    }

    private void refused(String message, String... words) {
        var wrong = assertThrows(Options.Wrong.class, () -> new Options(words), String.join(" ", words));
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
    }

    @Test
    void wrongOptionsAreToldWithWhatIsExpected() throws Exception {
        String file = Files.writeString(directory.resolve("in.csv"), "x\n").toString();
        refused("etl, stats or lrb is expected");
        refused("etl, stats or lrb is expected", "ysb");
        refused("HOST:PORT is expected", "lrb", "--rate", "5");
        refused("HOST:PORT is expected", "lrb", "--rest", "a:1:2", "--rate", "5");
        refused("port of --rest is x", "lrb", "--rest", "a:x", "--rate", "5");
        refused("--input FILE is missing", "etl", "--rate", "5");
        refused("no file that can be read", "etl", "--rate", "5", "--input", file + "x");
        refused("--rate N is missing", "etl", "--input", file);
        for (String rate : List.of("0", "-1", "NaN", "x", "1e8")) {
            refused("--rate is " + rate, "etl", "--input", file, "--rate", rate);
        }
        refused("needs a value", "etl", "--input", file, "--rate");
        refused("unknown option --speed", "etl", "--speed", "1");
        refused("given twice", "etl", "--rate", "1", "--rate", "2");
        refused("from 1 to", "etl", "--input", file, "--rate", "1", "--seconds", "0");
        refused("with an operator of source, parse", "stats", "--input", file, "--rate", "1", "--spin-us", "join=3");
        refused("--spin-us of plot is -3", "stats", "--input", file, "--rate", "1", "--spin-us", "plot=-3");
        refused("KEY=VALUE is expected", "etl", "--conf", "x");
        refused("letters, digits", "etl", "--input", file, "--rate", "1", "--name", "a.b");
    }

    @Test
    void optionsAreRead() throws Exception {
        String file = Files.writeString(directory.resolve("in.csv"), "x\n").toString();
        var options = new Options(
                "etl", "--input", file, "--rate", "2.5", "--spin-us", "parse=300,sink=1", "--keep", "--conf", "a.b=5", "--conf",
                "c=x=y");
        assertEquals(2.5, options.rate);
        assertEquals(java.util.Map.of("parse", 300, "sink", 1), options.spinUs);
        assertEquals(java.util.Map.of("a.b", 5L, "c", "x=y"), options.configuration);
        assertEquals(10, options.warmupSeconds);
        assertTrue(options.isKept);
        assertEquals(10, new Options("stats", "--input", file, "--rate", "1", "--spin-us", "7").spinUs.size());
    }

    @Test
    void eachQueryHasTenOperators() throws Exception {
        for (String query : List.of("etl", "stats")) {
            var plan = new Plan(query, "none", 1, 0, 1, 1, "none", false);
            var topology = Queries.topology(plan, java.util.Map.of(), java.util.Map.of("a", "b,c"));
            var names = new java.util.HashSet<>(topology.get_bolts().keySet());
            names.addAll(topology.get_spouts().keySet());
            assertEquals(new java.util.HashSet<>(Operators.of(query)), names);
            assertEquals(10, names.size());
        }
    }
}
