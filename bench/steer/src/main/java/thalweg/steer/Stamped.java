package thalweg.steer;

/**
 * A record with the two moments from which latency is counted. A result has the moments of the input record that
 * completed it.
 */
interface Stamped {
    /** Stands for the number of a result that belongs to no single record. */
    long NO_NUMBER = -1;

    /** Moments of the input record. */
    Moments moments();

    /**
     * Number and two moments of an input record, by {@link System#nanoTime} of the one worker.
     *
     * @param number number of the record, counted from 0
     * @param due when the source should have sent the record at the given rate
     * @param sent when the source sent it into the topology
     */
    record Moments(long number, long due, long sent) {}

    /** A text of SenML: a line of the input, or a message that is to be published. */
    record Line(Moments moments, String text) implements Stamped {}

    /**
     * Values that all observations of an input record share.
     *
     * @param timeMs event time, milliseconds since 1970
     */
    record Meta(Moments moments, long timeMs, String sensor, String longitude, String latitude) {}

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

    /** A row of comma-separated values with its annotation. A missing value is empty. */
    record Row(Moments moments, String csv) implements Stamped {}

    /** A packet that publishes a message. */
    record Packet(Moments moments, byte[] bytes) implements Stamped {}

    /** A statistic of values. Its label is its name in plots. */
    enum Statistic {
        /** Mean of a block of values of a sensor. */
        AVERAGE("average"),
        /** Mean of the predicted values of a sensor. */
        PREDICTION("prediction"),
        /** Estimated number of sensors. */
        SENSORS("sensors");

        final String label;

        Statistic(String label) {
            this.label = label;
        }
    }

    /**
     * A result of a statistic.
     *
     * @param sensor the sensor whose values the result is of; empty for numbers of sensors
     * @param timeMs event time, milliseconds since 1970
     */
    record Point(Moments moments, Statistic statistic, Kind kind, String sensor, long timeMs, double value)
            implements Stamped {}

    /**
     * The points of a plot.
     *
     * @param number number of the plot among those of its statistic and kind, from 0
     */
    record Points(Moments moments, Statistic statistic, Kind kind, long number, java.util.List<Point> points)
            implements Stamped {}

    /** A plot as text of SVG. */
    record Plot(Moments moments, Statistic statistic, Kind kind, long number, String svg) implements Stamped {}

    /** The name under which a plot is stored, and the hash of its text. */
    record Upload(Moments moments, String name, long checksum) implements Stamped {}
}
