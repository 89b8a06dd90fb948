package thalweg.steer;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** The operators of ETL between its parser and its writer: they clean, complete and annotate observations. */
final class Cleaning {
    private Cleaning() {}

    /** Marks a value outside of its {@link Kind}'s range as missing. */
    static final class RangeFilter implements Operator<Stamped.Observation, Stamped.Observation> {
        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Observation> out) {
            Kind kind = input.kind();
            boolean isPlausible = kind.least <= input.value() && input.value() <= kind.most;
            out.accept(isPlausible ? input : new Stamped.Observation(input.meta(), kind, Double.NaN));
        }
    }

    /**
     * Lets observations of known sensors pass, by a Bloom filter. A record of an unknown sensor loses all of its
     * observations, or, by a false positive, none.
     *
     * <p>Source: the usual sizes, -n ln p / (ln 2)^2 bits and -log2 p hash functions for n sensors and a share p of false
     * positives. The functions come of two by Kirsch and Mitzenmacher, "Less Hashing, Same Performance: Building a Better
     * Bloom Filter".
     */
    static final class BloomFilter implements Operator<Stamped.Observation, Stamped.Observation> {
        /** Share of unknown sensors that pass. Source: RIoTBench. */
        private static final double FALSE_SHARE = 0.01;
        private static final int HASHES = (int) Math.ceil(-Math.log(FALSE_SHARE) / Math.log(2));
        private final BitSet bits = new BitSet();
        private final int size;

        BloomFilter(Set<String> known) {
            double wanted = -Math.max(1, known.size()) * Math.log(FALSE_SHARE) / Math.pow(Math.log(2), 2);
            size = 64 * (int) Math.ceil(wanted / 64);
            for (String sensor : known) {
                for (int index = 0; index < HASHES; index++) {
                    bits.set(position(sensor, index));
                }
            }
        }

        boolean mayKnow(String sensor) {
            for (int index = 0; index < HASHES; index++) {
                if (!bits.get(position(sensor, index))) {
                    return false;
                }
            }
            return true;
        }

        /** Returns h1 + index * h2 modulo the size, where h2 is odd, so that it is not 0. */
        private int position(String sensor, int index) {
            long hash = Hash.of(sensor);
            return (int) Long.remainderUnsigned(hash + index * (Long.rotateLeft(hash, 32) | 1), size);
        }

        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Observation> out) {
            if (mayKnow(input.meta().sensor())) {
                out.accept(input);
            } else {
                Meter.of().unknown.increment();
                Meter.of().dropped(input.moments(), System.nanoTime());
            }
        }
    }

    /** Gives a missing value the mean of the last values of its sensor and kind. It stays missing if there are none. */
    static final class Interpolate implements Operator<Stamped.Observation, Stamped.Observation> {
        /** Number of values in a mean, as in RIoTBench. */
        static final int WINDOW = 5;
        private final Map<String, Deque<Double>> last = new HashMap<>();

        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Observation> out) {
            Deque<Double> window = last.computeIfAbsent(Keys.of(input), key -> new ArrayDeque<>(WINDOW));
            if (Double.isNaN(input.value())) {
                double sum = 0;
                for (double value : window) {
                    sum += value;
                }
                double mean = window.isEmpty() ? Double.NaN : sum / window.size();
                out.accept(new Stamped.Observation(input.meta(), input.kind(), mean));
                return;
            }
            if (window.size() == WINDOW) {
                window.removeFirst();
            }
            window.addLast(input.value());
            out.accept(input);
        }
    }

    /** Joins the observations of each record again. */
    static final class Join implements Operator<Stamped.Observation, Stamped.Joined> {
        /** Most records that wait for an observation. The oldest is dropped and counted in {@link Meter#unjoined}. */
        static final int WAITING_MAX = 10_000;
        private final Map<Long, double[]> waiting = new LinkedHashMap<>();

        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Joined> out) {
            // The last place counts the observations that have come.
            double[] values = waiting.computeIfAbsent(input.moments().number(), number -> new double[Kind.COUNT + 1]);
            values[input.kind().ordinal()] = input.value();
            values[Kind.COUNT] += 1;
            if (values[Kind.COUNT] >= Kind.COUNT) {
                waiting.remove(input.moments().number());
                out.accept(new Stamped.Joined(input.meta(), java.util.Arrays.copyOf(values, Kind.COUNT)));
            } else if (waiting.size() > WAITING_MAX) {
                waiting.remove(waiting.keySet().iterator().next());
                Meter.of().unjoined.increment();
            }
        }
    }

    /**
     * Adds place and type of the sensor, and writes the record as comma-separated values. A record of an unknown sensor is
     * dropped.
     */
    static final class Annotate implements Operator<Stamped.Joined, Stamped.Row> {
        private final HashMap<String, String> places;

        /** Takes annotations by sensor, as a {@link Registry} has them. */
        Annotate(Map<String, String> places) {
            this.places = new HashMap<>(places);
        }

        @Override
        public void take(Stamped.Joined input, Consumer<? super Stamped.Row> out) {
            Stamped.Meta meta = input.meta();
            String place = places.get(meta.sensor());
            if (place == null) {
                Meter.of().unknown.add(Kind.COUNT);
                Meter.of().dropped(input.moments(), System.nanoTime());
                return;
            }
            StringBuilder csv = new StringBuilder(160).append(meta.timeMs()).append(',').append(meta.sensor());
            csv.append(',').append(meta.longitude()).append(',').append(meta.latitude());
            for (double value : input.values()) {
                csv.append(',');
                if (!Double.isNaN(value)) {
                    csv.append(value);
                }
            }
            csv.append(',').append(place);
            out.accept(new Stamped.Row(input.moments(), csv.toString()));
        }
    }

    /**
     * Makes the packet by which a client of MQTT publishes a message, to be delivered at most once. There is no broker.
     *
     * <p>Source: MQTT 3.1.1, sections 2.2.3 and 3.3.
     */
    static final class Publish implements Operator<Stamped.Line, Stamped.Packet> {
        private static final byte[] TOPIC = "citydata".getBytes(StandardCharsets.US_ASCII);
        /** Most bytes of the first field, and of the length, which has 7 bits in each byte. */
        private static final int HEAD_MAX = 6;

        @Override
        public void take(Stamped.Line input, Consumer<? super Stamped.Packet> out) {
            byte[] text = input.text().getBytes(StandardCharsets.UTF_8);
            int length = 2 + TOPIC.length + text.length;
            var packet = java.nio.ByteBuffer.allocate(HEAD_MAX + length);
            packet.put((byte) 0x30);
            int rest = length;
            for (; rest >= 128; rest /= 128) {
                packet.put((byte) (rest % 128 | 128));
            }
            packet.put((byte) rest).putShort((short) TOPIC.length).put(TOPIC).put(text);
            out.accept(new Stamped.Packet(input.moments(), java.util.Arrays.copyOf(packet.array(), packet.position())));
        }
    }
}
