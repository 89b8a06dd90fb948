package thalweg.steer;

import java.util.function.Consumer;

/**
 * Reads and writes lines of SenML as RIoTBench has them: {@code MS,{"e":[{"n":NAME,"u":UNIT,"v":VALUE}..],"bt":MS}}, with
 * times in milliseconds. Values that are text have the key {@code sv}, and numbers may be quoted. An observation is missing
 * if it has no element, or if its value is empty or {@code null}.
 */
final class SenMl {
    private SenMl() {}

    /** Cuts a line into its observations. A line that is not understood is counted in {@link Meter#bad} and left out. */
    static final class Parse implements Operator<Stamped.Line, Stamped.Observation> {
        private final boolean keepsMissing;

        /** Creates the operator. It leaves out observations that are missing, or makes them with the value NaN. */
        Parse(boolean keepsMissing) {
            this.keepsMissing = keepsMissing;
        }

        @Override
        public void take(Stamped.Line line, Consumer<? super Stamped.Observation> out) {
            Scanner scanner = new Scanner(line.text());
            if (!scanner.run()) {
                Meter.of().bad.increment();
                Meter.of().dropped(line.moments(), System.nanoTime());
                return;
            }
            var meta = new Stamped.Meta(
                    line.moments(), scanner.timeMs, scanner.sensor, scanner.longitude, scanner.latitude);
            for (Kind kind : Kind.values()) {
                double value = scanner.values[kind.ordinal()];
                if (keepsMissing || !Double.isNaN(value)) {
                    out.accept(new Stamped.Observation(meta, kind, value));
                }
            }
        }
    }

    /** Writes an annotated row as a message of SenML, without the missing values. */
    static final class Write implements Operator<Stamped.Row, Stamped.Line> {
        /** Names of the columns that stand before the values, and their units. */
        private static final String[][] FRONT = {{"source", "string"}, {"longitude", "lon"}, {"latitude", "lat"}};
        /** Names of the columns of the annotation. */
        private static final String[] BACK = {"location", "type"};
        private static final int CELLS = 1 + FRONT.length + Kind.COUNT + BACK.length;

        @Override
        public void take(Stamped.Row row, Consumer<? super Stamped.Line> out) {
            // The last cell, the type, may have commas.
            String[] cells = row.csv().split(",", CELLS);
            StringBuilder text = new StringBuilder(512).append("{\"e\":[");
            int cell = 1;
            for (String[] column : FRONT) {
                // The position is a number to SenML, and the name of the sensor is text.
                element(text, column[0], column[1], column[1].equals("string") ? "sv" : "v", cells[cell++]);
            }
            for (Kind kind : Kind.values()) {
                String value = cells[cell++];
                if (!value.isEmpty()) {
                    element(text, kind.label, kind.unit, "v", value);
                }
            }
            for (String name : BACK) {
                element(text, name, "string", "sv", cells[cell++]);
            }
            text.setCharAt(text.length() - 1, ']');
            text.append(",\"bt\":").append(cells[0]).append('}');
            out.accept(new Stamped.Line(row.moments(), text.toString()));
        }

        private static void element(StringBuilder text, String name, String unit, String key, String value) {
            text.append("{\"u\":\"").append(unit).append("\",\"n\":\"").append(name).append("\",\"");
            text.append(key).append("\":\"").append(value).append("\"},");
        }
    }

    /** Reads one line from its first to its last character. */
    private static final class Scanner {
        private final String text;
        private int at;
        long timeMs;
        String sensor;
        String longitude;
        String latitude;
        final double[] values = new double[Kind.COUNT];

        Scanner(String text) {
            this.text = text;
            java.util.Arrays.fill(values, Double.NaN);
        }

        /** Returns true if the line is understood: it has a time, a sensor and its position, and each number is finite. */
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
                boolean isWhole = sensor != null && !sensor.isEmpty() && longitude != null && latitude != null;
                return isWhole && at < text.length() && text.charAt(at) == ']';
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
                values[kind.ordinal()] = value.isEmpty() ? Double.NaN : finite(value);
            } else if (name.equals("source")) {
                sensor = value;
            } else if (name.equals("longitude")) {
                finite(value);
                longitude = value;
            } else if (name.equals("latitude")) {
                finite(value);
                latitude = value;
            }
        }

        /** Reads a number. NaN and infinities, which Java would take for numbers, are refused: NaN stands for no value here. */
        private static double finite(String value) {
            double number = Double.parseDouble(value);
            if (!Double.isFinite(number)) {
                throw new NumberFormatException(value + " is not finite");
            }
            return number;
        }

        /** Returns the next word, quoted or not, and moves behind it; an empty one for {@code null}. */
        private String word() {
            int begin = at;
            if (text.startsWith("null", at)) {
                at += 4;
                return "";
            }
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
