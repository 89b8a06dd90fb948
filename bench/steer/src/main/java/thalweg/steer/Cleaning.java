package thalweg.steer;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.zip.CRC32;

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
     */
    static final class BloomFilter implements Operator<Stamped.Observation, Stamped.Observation> {
        /** Bits for each known sensor: with 7 hash functions, 1 of 122 unknown sensors passes. */
        private static final int BITS_PER_SENSOR = 10;
        private static final int HASHES = 7;
        private final BitSet bits = new BitSet();
        private final int size;

        BloomFilter(Set<String> known) {
            size = Math.max(64, known.size() * BITS_PER_SENSOR);
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

        /** Double hashing: the positions are h1 + index * h2 with two halves of a 64-bit hash. */
        private int position(String sensor, int index) {
            long hash = Hash.of(sensor);
            return Math.floorMod((int) hash + index * (int) (hash >>> 32 | 1), size);
        }

        @Override
        public void take(Stamped.Observation input, Consumer<? super Stamped.Observation> out) {
            if (mayKnow(input.meta().sensor())) {
                out.accept(input);
            } else {
                Meter.of().unknown.increment();
            }
        }
    }

    /** Gives a missing value the mean of the last values of its sensor and kind; 0 if there is none. */
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
                double mean = window.isEmpty() ? 0 : sum / window.size();
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
            double[] values = waiting.computeIfAbsent(input.meta().id(), id -> new double[Kind.COUNT + 1]);
            values[input.kind().ordinal()] = input.value();
            values[Kind.COUNT] += 1;
            if (values[Kind.COUNT] >= Kind.COUNT) {
                waiting.remove(input.meta().id());
                out.accept(new Stamped.Joined(input.meta(), java.util.Arrays.copyOf(values, Kind.COUNT)));
            } else if (waiting.size() > WAITING_MAX) {
                waiting.remove(waiting.keySet().iterator().next());
                Meter.of().unjoined.increment();
            }
        }
    }

    /** Adds place and type of the sensor, and writes the record as comma-separated values. */
    static final class Annotate implements Operator<Stamped.Joined, Stamped.Row> {
        private static final String UNKNOWN = "unknown,unknown";
        private final HashMap<String, String> places;

        /** Takes annotations by sensor, each of the form {@code PLACE,TYPE}. */
        Annotate(Map<String, String> places) {
            this.places = new HashMap<>(places);
        }

        /**
         * Reads a file of lines {@code SENSOR:PLACE,TYPE}.
         *
         * @throws IOException if the file cannot be read, or a line has another form
         */
        static Map<String, String> read(java.nio.file.Path file) throws IOException {
            Map<String, String> places = new HashMap<>();
            for (String line : Replay.lines(file)) {
                String[] parts = line.split(":", 2);
                if (parts.length < 2 || parts[1].chars().filter(c -> c == ',').count() != 1) {
                    throw new IOException(file + ": \"" + line + "\" is not of the form SENSOR:PLACE,TYPE");
                }
                places.put(parts[0], parts[1]);
            }
            return places;
        }

        @Override
        public void take(Stamped.Joined input, Consumer<? super Stamped.Row> out) {
            Stamped.Meta meta = input.meta();
            StringBuilder csv = new StringBuilder(160).append(meta.timeMs()).append(',').append(meta.sensor());
            csv.append(',').append(meta.longitude()).append(',').append(meta.latitude());
            for (double value : input.values()) {
                csv.append(',').append(value);
            }
            csv.append(',').append(places.getOrDefault(meta.sensor(), UNKNOWN));
            out.accept(new Stamped.Row(input.moments(), csv.toString()));
        }
    }

    /**
     * Makes the packet that MQTT would send for a message, without a broker: topic, length, text and, in place of the
     * way through a network, its checksum.
     */
    static final class Publish implements Operator<Stamped.Row, Stamped.Bytes> {
        private static final byte[] TOPIC = "thalweg/etl".getBytes(StandardCharsets.US_ASCII);

        @Override
        public void take(Stamped.Row input, Consumer<? super Stamped.Bytes> out) {
            byte[] text = input.csv().getBytes(StandardCharsets.UTF_8);
            var packet = java.nio.ByteBuffer.allocate(TOPIC.length + text.length + 14);
            packet.put((byte) 0x30).putInt(text.length).put((byte) TOPIC.length).put(TOPIC).put(text);
            CRC32 checksum = new CRC32();
            checksum.update(packet.array(), 0, packet.position());
            packet.putLong(checksum.getValue());
            out.accept(new Stamped.Bytes(input.moments(), packet.array()));
        }
    }
}
