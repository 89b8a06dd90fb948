package thalweg.steer;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The known sensors of ETL: the place and type of each, of the form {@code PLACE,TYPE}. A type may have commas. */
final class Registry {
    /** Longest identifier of a sensor, in bytes. */
    private static final int SENSOR_BYTES_MAX = 31;
    /** Longest place, and longest type, in bytes. */
    private static final int PLACE_BYTES_MAX = 64;

    private Registry() {}

    /**
     * Reads a file of lines {@code SENSOR:PLACE,TYPE}, packed by gzip if its name ends in {@code .gz}.
     *
     * @throws IOException if the file cannot be read, a line has another form, or a sensor occurs twice
     */
    static Map<String, String> read(Path file) throws IOException {
        return parse(file.toString(), Replay.lines(file));
    }

    /** Reads the lines of a file. Empty ones are skipped. */
    static Map<String, String> parse(String name, List<String> lines) throws IOException {
        Map<String, String> places = new HashMap<>();
        for (int index = 0; index < lines.size(); index++) {
            String line = lines.get(index);
            if (line.isEmpty()) {
                continue;
            }
            String[] parts = line.split(":", 2);
            String[] place = parts.length < 2 ? parts : parts[1].split(",", 2);
            boolean isRight = parts.length == 2 && place.length == 2 && isSensor(parts[0])
                    && isPlain(place[0], PLACE_BYTES_MAX) && isPlain(place[1], PLACE_BYTES_MAX);
            if (!isRight) {
                throw new IOException(
                        name + ": line " + (index + 1) + " is \"" + line + "\", and SENSOR:PLACE,TYPE is expected, of at most "
                                + SENSOR_BYTES_MAX + ", " + PLACE_BYTES_MAX + " and " + PLACE_BYTES_MAX
                                + " bytes, without quotes and backslashes, and the sensor without commas");
            }
            if (places.put(parts[0], parts[1]) != null) {
                throw new IOException(name + ": sensor " + parts[0] + " occurs twice; leave one of its lines");
            }
        }
        return places;
    }

    /**
     * Makes a registry of all sensors of an input, for runs without a file of places: place and type of each are
     * {@code unknown}.
     *
     * @throws IOException if an identifier is longer than those of a file, or has other characters
     */
    static Map<String, String> of(Set<String> sensors) throws IOException {
        Map<String, String> places = new HashMap<>();
        for (String sensor : sensors) {
            if (!isSensor(sensor)) {
                throw new IOException(
                        "sensor \"" + sensor + "\" of the input has more than " + SENSOR_BYTES_MAX
                                + " bytes, or a comma, a backslash or a control character; leave out its lines");
            }
            places.put(sensor, "unknown,unknown");
        }
        return places;
    }

    /** Returns true for an identifier that needs no escape in SenML, and none in comma-separated values. */
    private static boolean isSensor(String text) {
        return isPlain(text, SENSOR_BYTES_MAX) && text.indexOf(',') < 0;
    }

    private static boolean isPlain(String text, int bytesMost) {
        boolean isEscaped = text.chars().anyMatch(letter -> letter < ' ' || letter == '"' || letter == '\\');
        return !text.isEmpty() && !isEscaped && text.getBytes(StandardCharsets.UTF_8).length <= bytesMost;
    }
}
