package thalweg.steer;

import java.util.function.Consumer;

/**
 * Reads and writes lines of SenML as RIoTBench has them: {@code MS,{"e":[{"n":NAME,"u":UNIT,"v":VALUE}..],"bt":MS}}, with
 * times in milliseconds. Values that are text have the key {@code sv}, and numbers may be quoted.
 */
final class SenMl {
    private SenMl() {}

    /** Cuts a line into its observations. A line that is not understood is counted in {@link Meter#bad} and left out. */
    static final class Parse implements Operator<Stamped.Line, Stamped.Observation> {
        private long count;

        @Override
        public void take(Stamped.Line line, Consumer<? super Stamped.Observation> out) {
            long id = count++;
            Scanner scanner = new Scanner(line.text());
            if (!scanner.run()) {
                Meter.of().bad.increment();
                return;
            }
            var meta = new Stamped.Meta(
                    line.moments(), id, scanner.timeMs, scanner.sensor, scanner.longitude, scanner.latitude);
            for (Kind kind : Kind.values()) {
                out.accept(new Stamped.Observation(meta, kind, scanner.values[kind.ordinal()]));
            }
        }
    }

    /** Writes an annotated row as a line of SenML. */
    static final class Write implements Operator<Stamped.Row, Stamped.Row> {
        /** Names of the columns that stand before the values, and their units. */
        private static final String[][] FRONT = {{"source", "string"}, {"longitude", "lon"}, {"latitude", "lat"}};
        /** Names of the columns of the annotation. */
        private static final String[] BACK = {"location", "type"};

        @Override
        public void take(Stamped.Row row, Consumer<? super Stamped.Row> out) {
            String[] cells = row.csv().split(",", -1);
            StringBuilder text = new StringBuilder(400).append(cells[0]).append(",{\"e\":[");
            int cell = 1;
            for (String[] column : FRONT) {
                // The position is a number to SenML, and the name of the sensor is text.
                element(text, column[0], column[1], column[1].equals("string") ? "sv" : "v", cells[cell++]);
            }
            for (Kind kind : Kind.values()) {
                element(text, kind.label, kind.unit, "v", cells[cell++]);
            }
            for (String name : BACK) {
                element(text, name, "string", "sv", cells[cell++]);
            }
            text.setCharAt(text.length() - 1, ']');
            text.append(",\"bt\":").append(cells[0]).append('}');
            out.accept(new Stamped.Row(row.moments(), text.toString()));
        }

        private static void element(StringBuilder text, String name, String unit, String key, String value) {
            text.append("{\"n\":\"").append(name).append("\",\"u\":\"").append(unit).append("\",\"");
            text.append(key).append("\":\"").append(value).append("\"},");
        }
    }

    /** Reads one line from its first to its last character. */
    private static final class Scanner {
        private final String text;
        private int at;
        long timeMs;
        String sensor;
        String longitude = "";
        String latitude = "";
        final double[] values = new double[Kind.COUNT];

        Scanner(String text) {
            this.text = text;
            java.util.Arrays.fill(values, Double.NaN);
        }

        /** Returns whether the line is understood: it has a time and a sensor, and each number is one. */
        boolean run() {
            int comma = text.indexOf(',');
            at = text.indexOf("\"e\":[", comma + 1) + 5;
            if (comma < 0 || at < 5) {
                return false;
            }
            try {
                timeMs = Long.parseLong(text.substring(0, comma));
                while (at < text.length() && text.charAt(at) == '{') {
                    element();
                    at += at < text.length() && text.charAt(at) == ',' ? 1 : 0;
                }
                return sensor != null && at < text.length() && text.charAt(at) == ']';
            } catch (NumberFormatException | StringIndexOutOfBoundsException broken) {
                return false;
            }
        }

        private void element() {
            String name = null;
            String value = null;
            do {
                at++;
                String key = word();
                at++;
                String word = word();
                switch (key) {
                    case "n" -> name = word;
                    case "v", "sv" -> value = word;
                    default -> { }
                }
            } while (text.charAt(at) == ',');
            at++;
            if (name == null || value == null) {
                throw new NumberFormatException("an element without name or value");
            }
            Kind kind = Kind.of(name);
            if (kind != null) {
                values[kind.ordinal()] = Double.parseDouble(value);
            } else if (name.equals("source")) {
                sensor = value;
            } else if (name.equals("longitude")) {
                longitude = value;
            } else if (name.equals("latitude")) {
                latitude = value;
            }
        }

        /** Returns the next word, quoted or not, and moves behind it. */
        private String word() {
            int begin = at;
            if (text.charAt(at) == '"') {
                at = text.indexOf('"', begin + 1) + 1;
                return text.substring(begin + 1, at - 1);
            }
            while ("+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
            return text.substring(begin, at);
        }
    }
}
