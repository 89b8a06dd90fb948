package thalweg.steer;

/**
 * A record with the two moments from which latency is counted. A result has the moments of the input record that
 * completed it.
 */
interface Stamped {
    /** Moments of the input record. */
    Moments moments();

    /**
     * Two moments of an input record, by {@link System#nanoTime} of the one worker.
     *
     * @param due when the source should have sent the record at the given rate
     * @param sent when the source sent it into the topology
     */
    record Moments(long due, long sent) {}

    /** A line of the input, as the source sends it. */
    record Line(Moments moments, String text) implements Stamped {}

    /**
     * Values that all observations of an input record share.
     *
     * @param id number of the record, counted from 0
     * @param timeMs event time, milliseconds since 1970
     */
    record Meta(Moments moments, long id, long timeMs, String sensor, String longitude, String latitude) {}

    /** One observation of an input record. Its value is NaN if it is missing. */
    record Observation(Meta meta, Kind kind, double value) implements Stamped {
        @Override
        public Moments moments() {
            return meta.moments();
        }
    }

    /** All observations of an input record, by {@link Kind#ordinal}. */
    record Joined(Meta meta, double[] values) implements Stamped {
        @Override
        public Moments moments() {
            return meta.moments();
        }
    }

    /** A row of comma-separated values with its annotation. */
    record Row(Moments moments, String csv) implements Stamped {}

    /** Values to be drawn, from one operator for one sensor and kind. */
    record Series(Moments moments, String name, double[] values) implements Stamped {}

    /** Bytes that leave the query: a message, a plot, or a packed plot. */
    record Bytes(Moments moments, byte[] bytes) implements Stamped {}
}
