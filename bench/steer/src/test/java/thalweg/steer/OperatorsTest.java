package thalweg.steer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class OperatorsTest {
    private static final Stamped.Moments MOMENTS = new Stamped.Moments(1, 2);

    private static <I, O> List<O> run(Operator<I, O> operator, List<? extends I> inputs) {
        List<O> results = new ArrayList<>();
        inputs.forEach(input -> operator.take(input, results::add));
        return results;
    }

    private static String line(long time, String sensor, Object... values) {
        StringBuilder text = new StringBuilder(time + ",{\"e\":[{\"u\":\"string\",\"n\":\"source\",\"sv\":\"" + sensor + "\"},");
        text.append("{\"v\":\"6.5\",\"u\":\"lon\",\"n\":\"longitude\"},{\"v\":\"46.25\",\"u\":\"lat\",\"n\":\"latitude\"}");
        for (int index = 0; index < values.length; index++) {
            Kind kind = Kind.values()[index];
            text.append(",{\"v\":\"" + values[index] + "\",\"u\":\"" + kind.unit + "\",\"n\":\"" + kind.label + "\"}");
        }
        return text.append("],\"bt\":" + time + "}").toString();
    }

    private static List<Stamped.Observation> parsed(String... lines) {
        List<Stamped.Line> inputs = new ArrayList<>();
        for (String line : lines) {
            inputs.add(new Stamped.Line(MOMENTS, line));
        }
        return run(new SenMl.Parse(), inputs);
    }

    private static List<Stamped.Observation> values(double... values) {
        List<Stamped.Observation> inputs = new ArrayList<>();
        for (double value : values) {
            var meta = new Stamped.Meta(MOMENTS, inputs.size(), 0, "s", "", "");
            inputs.add(new Stamped.Observation(meta, Kind.DUST, value));
        }
        return inputs;
    }

    @Test
    void aLineHasFiveObservations() {
        var found = parsed(line(1422748800000L, "a", 8, 53.7, -0.5, "4.1e2", 140));
        assertEquals(Kind.COUNT, found.size());
        assertEquals(410, found.get(Kind.DUST.ordinal()).value());
        assertEquals(-0.5, found.get(Kind.LIGHT.ordinal()).value());
        assertEquals("a", found.get(0).meta().sensor());
        assertEquals("46.25", found.get(0).meta().latitude());
        assertEquals(1422748800000L, found.get(0).meta().timeMs());
        assertEquals(MOMENTS, found.get(0).moments());
    }

    @Test
    void brokenLinesAreCountedAndLeftOut() {
        String good = line(7, "a", 1, 2, 3, 4, 5);
        long before = Meter.of().bad.sum();
        int count = 0;
        for (int cut = 0; cut < good.length() - ",\"bt\":7}".length(); cut++) {
            assertEquals(List.of(), parsed(good.substring(0, cut)), "cut at " + cut);
            count++;
        }
        assertEquals(List.of(), parsed(line(7, "a", "x", 2, 3, 4, 5)));
        assertEquals(count + 1, Meter.of().bad.sum() - before);
    }

    @Test
    void aMissingObservationIsNaN() {
        assertTrue(Double.isNaN(parsed(line(7, "a", 1)).get(Kind.DUST.ordinal()).value()));
    }

    @Test
    void valuesOutOfRangeAreFilledByTheMeanOfTheLastFive() {
        var filtered = run(new Cleaning.RangeFilter(), values(200, 300, 400, 500, 600, 700, 5188.22, 5188.21, 1, Double.NaN));
        assertTrue(Double.isNaN(filtered.get(6).value()));
        assertEquals(5188.21, filtered.get(7).value());
        var filled = run(new Cleaning.Interpolate(), filtered);
        assertEquals(500, filled.get(6).value());
        // The five last values are 400 to 700 and 5188.21; a filled value is none of them.
        assertEquals((400 + 500 + 600 + 700 + 5188.21) / 5, filled.get(8).value(), 1e-9);
        assertEquals(filled.get(8).value(), filled.get(9).value());
        assertEquals(0, run(new Cleaning.Interpolate(), values(Double.NaN)).get(0).value());
    }

    @Test
    void knownSensorsPassTheBloomFilterAndFewOthersDo() {
        Set<String> known = new java.util.HashSet<>();
        for (int number = 0; number < 500; number++) {
            known.add("known" + number);
        }
        var filter = new Cleaning.BloomFilter(known);
        assertTrue(known.stream().allMatch(filter::mayKnow));
        int passed = 0;
        for (int number = 0; number < 10_000; number++) {
            passed += filter.mayKnow("other" + number) ? 1 : 0;
        }
        // 1 of 122 is expected.
        assertTrue(passed < 200, passed + " of 10000 unknown sensors pass");
    }

    @Test
    void observationsAreJoinedByRecordInAnyOrder() {
        var both = new ArrayList<>(parsed(line(1, "a", 1, 2, 3, 4, 5), line(2, "b", 6, 7, 8, 9, 10)));
        java.util.Collections.reverse(both);
        var joined = run(new Cleaning.Join(), both);
        assertEquals(List.of("b", "a"), joined.stream().map(it -> it.meta().sensor()).toList());
        assertArrayEquals(new double[] {1, 2, 3, 4, 5}, joined.get(1).values());
    }

    @Test
    void recordsThatNeverCompleteAreBounded() {
        long before = Meter.of().unjoined.sum();
        var join = new Cleaning.Join();
        for (int id = 0; id < Cleaning.Join.WAITING_MAX + 5; id++) {
            var meta = new Stamped.Meta(MOMENTS, id, 0, "s", "", "");
            join.take(new Stamped.Observation(meta, Kind.DUST, 1), result -> { });
        }
        assertEquals(5, Meter.of().unjoined.sum() - before);
    }

    @Test
    void etlWritesSenMlThatParsesToTheSameRecord() {
        var joined = run(new Cleaning.Join(), parsed(line(9, "a", 1, 2.5, 3, 4, 5)));
        var rows = run(new Cleaning.Annotate(Map.of("a", "roof,heat")), joined);
        assertEquals("9,a,6.5,46.25,1.0,2.5,3.0,4.0,5.0,roof,heat", rows.get(0).csv());
        var written = run(new SenMl.Write(), rows).get(0).csv();
        var again = parsed(written);
        assertEquals(2.5, again.get(Kind.HUMIDITY.ordinal()).value());
        assertEquals("a", again.get(0).meta().sensor());
        assertTrue(written.endsWith("{\"n\":\"type\",\"u\":\"string\",\"sv\":\"heat\"}],\"bt\":9}"), written);
        assertTrue(run(new Cleaning.Annotate(Map.of()), joined).get(0).csv().endsWith(",unknown,unknown"));
        byte[] packet = run(new Cleaning.Publish(), rows).get(0).bytes();
        assertTrue(new String(packet, java.nio.charset.StandardCharsets.ISO_8859_1).contains("roof,heat"));
    }

    @Test
    void theMeanOfEachTenValues() {
        var means = run(new Statistics.Average(), values(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100));
        assertEquals(1, means.size());
        assertEquals(5.5, means.get(0).values()[0]);
        assertEquals("average dust", means.get(0).name());
    }

    @Test
    void kalmanByHand() {
        var found = run(new Statistics.Kalman(), values(10, 20));
        // P = 30.125, K = 30.125 / 30.445; then P = K * 0.32 + 0.125, K = P / (P + 0.32).
        assertEquals(9.894893, found.get(0).value(), 1e-6);
        assertEquals(15.754360, found.get(1).value(), 1e-6);
    }

    @Test
    void aStraightLineIsContinued() {
        var found = run(new Statistics.Regression(), values(3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23));
        assertEquals(2, found.size());
        assertEquals(Statistics.Regression.PREDICT, found.get(0).values().length);
        assertEquals(23, found.get(0).values()[0], 1e-9);
        assertEquals(43, found.get(1).values()[9], 1e-9);
    }

    @Test
    void distinctCountsGrowAndDoNotCountTwice() {
        var distinct = new Statistics.Distinct();
        double last = 0;
        for (int round = 0; round < 2; round++) {
            for (int sensor = 0; sensor < 2_000; sensor++) {
                var meta = new Stamped.Meta(MOMENTS, 0, 0, "sensor" + sensor, "", "");
                double[] estimate = {0};
                distinct.take(new Stamped.Observation(meta, Kind.DUST, 1), result -> estimate[0] = result.values()[0]);
                assertTrue(estimate[0] >= last);
                assertFalse(round == 1 && estimate[0] > last, "a sensor that was seen changes nothing");
                last = estimate[0];
            }
        }
        // The standard error of 10 buckets is 41 %.
        assertTrue(last > 500 && last < 8_000, "2000 sensors are counted as " + last);
    }

    @Test
    void aPlotDrawsEachSeriesAndUnpacks() throws Exception {
        List<Stamped.Series> series = new ArrayList<>();
        for (int number = 0; number < Statistics.Plot.RUN; number++) {
            boolean isUp = number % 2 == 0;
            series.add(new Stamped.Series(MOMENTS, isUp ? "up" : "down", new double[] {isUp ? number : -number}));
        }
        var plots = run(new Statistics.Plot(), series);
        assertEquals(1, plots.size());
        byte[] picture = plots.get(0).bytes();
        int last = Statistics.Plot.WIDTH - 1;
        // One line rises from the lower left to the upper right corner, and the other falls.
        assertTrue(picture[0] != 0 && picture[last] != 0, "both upper corners are drawn");
        var packed = run(new Statistics.Pack(), plots).get(0).bytes();
        assertTrue(packed.length < picture.length / 4);
        var inflater = new java.util.zip.Inflater();
        inflater.setInput(packed);
        byte[] again = new byte[picture.length];
        assertEquals(picture.length, inflater.inflate(again));
        inflater.end();
        assertArrayEquals(picture, again);
    }
}
