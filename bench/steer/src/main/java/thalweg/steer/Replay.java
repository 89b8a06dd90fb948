package thalweg.steer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.zip.GZIPInputStream;

/**
 * The lines of a file of SenML, again and again, with event times that rise from cycle to cycle: each cycle is later than
 * the one before by the span of the file and a second.
 */
final class Replay {
    /** Most lines of a file. All of them are kept in memory. */
    private static final int LINES_MAX = 1_000_000;
    private final List<String[]> parts = new ArrayList<>();
    private final List<Long> times = new ArrayList<>();
    private final Set<String> sensors = new LinkedHashSet<>();
    private final long spanMs;

    /**
     * Reads a file, packed by gzip if its name ends in {@code .gz}.
     *
     * @throws IOException if the file cannot be read, is empty, or has a line of another form
     */
    Replay(Path file) throws IOException {
        this(file.toString(), lines(file));
    }

    Replay(String name, List<String> lines) throws IOException {
        for (String line : lines) {
            int comma = line.indexOf(',');
            int base = line.lastIndexOf("\"bt\":");
            String time = comma < 0 ? "" : line.substring(0, comma);
            boolean isUnderstood = time.matches("[0-9]{1,15}") && base > comma && line.endsWith(time + "}");
            int sensor = line.indexOf("\"sv\":\"");
            if (!isUnderstood || sensor < 0) {
                throw new IOException(
                        name + ": line " + (parts.size() + 1) + " is not of the form MS,{\"e\":[..],\"bt\":MS}");
            }
            times.add(Long.parseLong(time));
            // The line without its two times, which each cycle writes anew.
            parts.add(new String[] {line.substring(comma, base + 5), "}"});
            sensors.add(line.substring(sensor + 6, line.indexOf('"', sensor + 6)));
        }
        if (parts.isEmpty()) {
            throw new IOException(name + " has no lines");
        }
        long least = times.stream().min(Long::compare).orElse(0L);
        long most = times.stream().max(Long::compare).orElse(0L);
        spanMs = most - least + 1_000;
    }

    /** Returns the line of the record with this number, counted from 0. */
    String line(long number) {
        int index = (int) (number % parts.size());
        long time = times.get(index) + number / parts.size() * spanMs;
        String[] part = parts.get(index);
        return time + part[0] + time + part[1];
    }

    /** Returns the names of all sensors in the file. */
    Set<String> sensors() {
        return sensors;
    }

    /** Returns the lines of a text file, packed by gzip if its name ends in {@code .gz}. */
    static List<String> lines(Path file) throws IOException {
        List<String> lines = new ArrayList<>();
        try (InputStream bytes = Files.newInputStream(file);
                InputStream text = file.toString().endsWith(".gz") ? new GZIPInputStream(bytes) : bytes;
                BufferedReader reader = new BufferedReader(new InputStreamReader(text, StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (lines.size() == LINES_MAX) {
                    throw new IOException(file + " has more than " + LINES_MAX + " lines");
                }
                lines.add(line);
            }
        }
        return lines;
    }
}
