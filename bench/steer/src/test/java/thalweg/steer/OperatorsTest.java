package thalweg.steer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class OperatorsTest {
    private static final Stamped.Moments MOMENTS = new Stamped.Moments(0, 1, 2);

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
            inputs.add(new Stamped.Line(new Stamped.Moments(inputs.size(), 1, 2), line));
        }
        return run(new SenMl.Parse(true), inputs);
    }

    private static List<Stamped.Observation> values(double... values) {
        List<Stamped.Observation> inputs = new ArrayList<>();
        for (double value : values) {
            var meta = new Stamped.Meta(MOMENTS, inputs.size(), "s", "", "");
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
        String noPlace = "7,{\"e\":[{\"n\":\"source\",\"sv\":\"a\"}],\"bt\":7}";
        String wrongPlace = good.replace("46.25", "Infinity");
        List<String> wrong = new ArrayList<>(List.of(noPlace, wrongPlace, good.replace("\"sv\":\"a\"", "\"sv\":\"\"")));
        for (String value : List.of("x", "NaN", "Infinity", "-Infinity", "1e999")) {
            wrong.add(line(7, "a", value, 2, 3, 4, 5));
        }
        for (String text : wrong) {
            assertEquals(List.of(), parsed(text), text);
            count++;
        }
        assertEquals(count, Meter.of().bad.sum() - before);
    }

    @Test
    void aMissingObservationIsNaN() {
        String bare = line(7, "a", 1, 2, 3, 4, 5).replace("\"4\"", "null");
        for (String text : List.of(line(7, "a", 1), line(7, "a", 1, 2, 3, "", 5), bare)) {
            assertTrue(Double.isNaN(parsed(text).get(Kind.DUST.ordinal()).value()), text);
            var kept = run(new SenMl.Parse(false), List.of(new Stamped.Line(MOMENTS, text)));
            assertFalse(kept.isEmpty() || kept.stream().anyMatch(it -> it.kind() == Kind.DUST), text);
        }
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
        assertTrue(Double.isNaN(run(new Cleaning.Interpolate(), values(Double.NaN)).get(0).value()));
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
        // 1 of 100 is expected.
        assertTrue(passed > 30 && passed < 200, passed + " of 10000 unknown sensors pass");
        long before = Meter.of().unknown.sum();
        assertEquals(List.of(), run(filter, values(1, 2)));
        assertEquals(2, Meter.of().unknown.sum() - before);
    }

    /** Values of the definition, computed apart from this program; the hash of the other engine is the same. */
    @Test
    void hashesAreThoseOfTheBytesInUtf8() {
        assertEquals(0xf52a15e9a9b5e89bL, Hash.of(""));
        assertEquals(0xe5a6db93a585df04L, Hash.of("ci4lr75sl000802ypo4qrcjda23"));
        assertEquals(0xfbb10d2851dc0a7aL, Hash.of("ñandú"));
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
            var meta = new Stamped.Meta(new Stamped.Moments(id, 1, 2), 0, "s", "", "");
            join.take(new Stamped.Observation(meta, Kind.DUST, 1), result -> { });
        }
        assertEquals(5, Meter.of().unjoined.sum() - before);
    }

    @Test
    void etlPublishesSenMlThatParsesToTheSameRecord() {
        var joined = run(new Cleaning.Join(), parsed(line(9, "a", 1, 2.5, 3, "", 5), line(9, "b", 1, 2, 3, 4, 5)));
        // The sensor b is not registered.
        var rows = run(new Cleaning.Annotate(Map.of("a", "roof,heat,2")), joined);
        assertEquals(List.of("9,a,6.5,46.25,1.0,2.5,3.0,,5.0,roof,heat,2"), rows.stream().map(Stamped.Row::csv).toList());
        var messages = run(new SenMl.Write(), rows);
        String written = messages.get(0).text();
        var again = parsed("9," + written);
        assertEquals(2.5, again.get(Kind.HUMIDITY.ordinal()).value());
        assertTrue(Double.isNaN(again.get(Kind.DUST.ordinal()).value()));
        assertEquals("a", again.get(0).meta().sensor());
        assertTrue(written.startsWith("{\"e\":[{\"u\":\"string\",\"n\":\"source\",\"sv\":\"a\"},"), written);
        assertTrue(written.endsWith("{\"u\":\"string\",\"n\":\"type\",\"sv\":\"heat,2\"}],\"bt\":9}"), written);
        assertFalse(written.contains("dust"), written);
        byte[] packet = run(new Cleaning.Publish(), messages).get(0).bytes();
        // The length of the rest has two bytes, of which the first has the lower 7 bits.
        int rest = 10 + written.length();
        byte[] head = {0x30, (byte) (rest % 128 | 128), (byte) (rest / 128), 0, 8};
        assertArrayEquals(head, java.util.Arrays.copyOf(packet, head.length));
        String text = new String(packet, java.nio.charset.StandardCharsets.UTF_8);
        assertTrue(text.endsWith("citydata" + written), text);
        assertEquals(rest + 3, packet.length);
    }

    @Test
    void registriesAreRead() throws Exception {
        var places = Registry.parse("test", List.of("s1:building1,solar", "", "s2:ngh,ultra,sound"));
        assertEquals(Map.of("s1", "building1,solar", "s2", "ngh,ultra,sound"), places);
        assertEquals(Map.of("s", "unknown,unknown"), Registry.of(Set.of("s")));
        List<List<String>> wrong = List.of(
                List.of("s1"), List.of("s1:building1"), List.of(":building1,solar"), List.of("s1:,solar"), List.of("s1:a,"),
                List.of("s1:a\"b,c"), List.of("s,1:a,b"), List.of("s".repeat(32) + ":a,b"), List.of("s:" + "a".repeat(65) + ",b"),
                List.of("s1:a,b", "s1:c,d"));
        for (List<String> lines : wrong) {
            assertThrows(java.io.IOException.class, () -> Registry.parse("test", lines), lines.toString());
        }
        assertThrows(java.io.IOException.class, () -> Registry.of(Set.of("a,b")));
    }

    private static final double GAP = Double.NaN;

    @Test
    void theMeanOfEachFiveValues() {
        var means = run(new Statistics.Average(), values(1, 2, GAP, 3, 4, 6, GAP, 100));
        assertEquals(1, means.size());
        assertEquals(3.2, means.get(0).value(), 1e-12);
        assertEquals(Stamped.Statistic.AVERAGE, means.get(0).statistic());
        assertEquals(Kind.DUST, means.get(0).kind());
        // The event time of the record that completed it.
        assertEquals(5, means.get(0).timeMs());
    }

    @Test
    void kalmanByHand() {
        var found = run(new Statistics.Kalman(), values(GAP, 10, GAP, 20));
        assertEquals(2, found.size());
        // P = 30.125, K = 30.125 / 30.445; then P = K * 0.32 + 0.125, K = P / (P + 0.32).
        assertEquals(9.894893, found.get(0).value(), 1e-6);
        assertEquals(15.754360, found.get(1).value(), 1e-6);
    }

    @Test
    void aStraightLineIsContinued() {
        var found = run(new Statistics.Regression(), values(3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23));
        assertEquals(2, found.size());
        // The next values are 23 to 41, then 25 to 43.
        assertEquals(32, found.get(0).value(), 1e-9);
        assertEquals(34, found.get(1).value(), 1e-9);
        // A value of 17 behind nine of 7 adds 1 to the mean and 45 / 82.5 to the slope.
        var bent = run(new Statistics.Regression(), values(7, 7, 7, 7, 7, 7, 7, 7, 7, 17));
        assertEquals(8 + 10 * 45 / 82.5, bent.get(0).value(), 1e-9);
    }

    @Test
    void distinctCountsGrowAndDoNotCountTwice() {
        var distinct = new Statistics.Distinct();
        double last = 0;
        for (int round = 0; round < 2; round++) {
            for (int sensor = 0; sensor < 2_000; sensor++) {
                var meta = new Stamped.Meta(MOMENTS, 0, "sensor" + sensor, "", "");
                double[] estimate = {0};
                distinct.take(new Stamped.Observation(meta, Kind.DUST, 1), result -> estimate[0] = result.value());
                distinct.take(
                        new Stamped.Observation(new Stamped.Meta(MOMENTS, 0, "gap" + sensor, "", ""), Kind.DUST, GAP),
                        result -> {
                            throw new AssertionError("a missing value is no reading of its sensor");
                        });
                if (sensor == 520) {
                    double error = estimate[0] / (round == 0 ? 521 : 2_000) - 1;
                    assertTrue(Math.abs(error) < 0.12, estimate[0] + " in round " + round);
                }
                assertTrue(estimate[0] >= last);
                assertFalse(round == 1 && estimate[0] > last, "a sensor that was seen changes nothing");
                last = estimate[0];
            }
        }
        // The standard error of 1,024 registers is 4 %.
        assertTrue(Math.abs(last / 2_000 - 1) < 0.12, "2000 sensors are counted as " + last);
    }

    private static Stamped.Point point(Stamped.Statistic statistic, Kind kind, String sensor, long timeMs, double value) {
        return new Stamped.Point(MOMENTS, statistic, kind, sensor, timeMs, value);
    }

    @Test
    void aPlotHasPointsOfOneStatisticAndKind() {
        List<Stamped.Point> points = new ArrayList<>();
        for (int number = 0; number < Statistics.Accumulate.POINTS; number++) {
            points.add(point(Stamped.Statistic.AVERAGE, Kind.DUST, "a", number, number));
            if (number > 0) {
                points.add(point(Stamped.Statistic.AVERAGE, Kind.LIGHT, "a", number, number));
                points.add(point(Stamped.Statistic.PREDICTION, Kind.DUST, "a", number, number));
            }
        }
        var accumulate = new Statistics.Accumulate();
        var first = run(accumulate, points);
        assertEquals(1, first.size());
        assertEquals(Statistics.Accumulate.POINTS, first.get(0).points().size());
        assertTrue(first.get(0).points().stream().allMatch(
                it -> it.kind() == Kind.DUST && it.statistic() == Stamped.Statistic.AVERAGE));
        // The other two have 99 points each, and are full with the next one.
        var next = run(accumulate, points);
        assertEquals(List.of(0L, 0L, 1L), next.stream().map(Stamped.Points::number).toList());
    }

    @Test
    void pointsAreDrawnAndNamed() {
        var points = List.of(
                point(Stamped.Statistic.AVERAGE, Kind.DUST, "b", 0, 1), point(Stamped.Statistic.AVERAGE, Kind.DUST, "a", 500, 3),
                point(Stamped.Statistic.AVERAGE, Kind.DUST, "b", 1_000, 5));
        var plots = run(
                new Statistics.Plot(), List.of(new Stamped.Points(MOMENTS, Stamped.Statistic.AVERAGE, Kind.DUST, 4, points)));
        assertEquals(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"360\"><title>average of dust, plot 4</title>"
                        + "<polyline fill=\"none\" stroke=\"black\" points=\"320,180\"/>"
                        + "<polyline fill=\"none\" stroke=\"black\" points=\"0,360 640,0\"/></svg>",
                plots.get(0).svg());
        var upload = run(new Statistics.Upload(), plots).get(0);
        assertEquals("average-dust-4.svg", upload.name());
        assertEquals(Hash.of(plots.get(0).svg()), upload.checksum());
    }
}
