package thalweg.steer;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The options of the command line. */
final class Options {
    static final String USAGE =
            """
            usage: java -cp STORM:steer.jar thalweg.steer.Main etl|stats --input FILE --rate N [option..]
                   java -cp FLINK:steer.jar thalweg.steer.Main lrb --rest HOST:PORT --rate N [option..]

              --input FILE        lines of SenML, packed if the name ends in .gz; replayed in a cycle
              --rest HOST:PORT    REST interface of the job manager
              --window-ms N       length of Linear Road's minute (60000); its other spans follow
              --rate N            records per second, sent by the clock whether Storm keeps up or not
              --seconds S         seconds that are measured (30)
              --warmup S          seconds before that (10)
              --spin-us N         extra CPU time of each operator for a record, in microseconds (0), or
                                  OPERATOR=N,OPERATOR=N for some
              --metadata FILE     lines SENSOR:PLACE,TYPE, the sensors that etl knows (without it all sensors of the
                                  input, at the place "unknown")
              --queue N           longest queue in front of the source that the gauge reports, in records (1000000)
              --ackers N          executors that track records (0, which tracks none)
              --name NAME         name of the topology (that of the query)
              --results FILE      where the worker writes the figures (a temporary file)
              --conf KEY=VALUE    a setting of Storm for the topology; may be given again
              --keep              leaves the topology running when its figures are printed
            """;
    /** Longest run, so that a wrong number does not occupy a machine for days. */
    private static final int SECONDS_MAX = 86_400;
    private static final int SPIN_US_MAX = 1_000_000;
    private static final List<String> SWITCHES = List.of("--keep");
    private static final List<String> KNOWN = List.of(
            "--input", "--rate", "--seconds", "--warmup", "--spin-us", "--metadata", "--queue", "--ackers", "--name", "--results",
            "--conf", "--keep", "--rest", "--window-ms");

    final String query;
    final Path input;
    final double rate;
    final int seconds;
    final int warmupSeconds;
    final Map<String, Integer> spinUs;
    final Path metadata;
    final long queueRecords;
    final int ackers;
    final String name;
    final Path results;
    final String restHost;
    final int restPort;
    final int windowMs;
    final Map<String, Object> configuration = new LinkedHashMap<>();
    final boolean isKept;

    /** An option that cannot be used. Its message says which, and what is expected. */
    static final class Wrong extends Exception {
        private static final long serialVersionUID = 1;

        Wrong(String message) {
            super(message);
        }
    }

    /**
     * Reads the command line.
     *
     * @throws Wrong for an unknown query or option, and for a value out of its range
     */
    Options(String... words) throws Wrong {
        if (words.length == 0 || !Operators.QUERIES.contains(words[0])) {
            String found = words.length == 0 ? "none" : "\"" + words[0] + "\"";
            throw new Wrong("the query is " + found + ", and etl, stats or lrb is expected");
        }
        query = words[0];
        Map<String, String> given = new HashMap<>();
        for (int index = 1; index < words.length; index++) {
            String key = words[index];
            if (!KNOWN.contains(key)) {
                throw new Wrong("unknown option " + key + ": choose from " + String.join(", ", KNOWN));
            }
            if (SWITCHES.contains(key)) {
                given.put(key, "");
                continue;
            }
            if (index + 1 == words.length) {
                throw new Wrong(key + " needs a value");
            }
            String value = words[++index];
            if (key.equals("--conf")) {
                setting(value);
            } else if (given.put(key, value) != null) {
                throw new Wrong(key + " is given twice");
            }
        }
        input = file("--input", given.get("--input"));
        boolean isRoad = query.equals(Operators.LINEAR_ROAD);
        String[] rest = given.getOrDefault("--rest", "").split(":", -1);
        if (isRoad && (rest.length != 2 || rest[0].isEmpty())) {
            throw new Wrong("--rest is \"" + given.getOrDefault("--rest", "") + "\", and HOST:PORT is expected");
        }
        restHost = rest[0];
        restPort = isRoad ? (int) number("the port of --rest", rest[1], 1, 65_535) : 0;
        windowMs = (int) number("--window-ms", given.getOrDefault("--window-ms", "60000"), 40, 3_600_000);
        if (input == null && !isRoad) {
            throw new Wrong("--input FILE is missing: a file of SenML lines");
        }
        metadata = file("--metadata", given.get("--metadata"));
        rate = rate(given.get("--rate"));
        seconds = (int) number("--seconds", given.getOrDefault("--seconds", "30"), 1, SECONDS_MAX);
        warmupSeconds = (int) number("--warmup", given.getOrDefault("--warmup", "10"), 0, SECONDS_MAX);
        queueRecords = number("--queue", given.getOrDefault("--queue", "1000000"), 1, Long.MAX_VALUE);
        ackers = (int) number("--ackers", given.getOrDefault("--ackers", "0"), 0, 64);
        spinUs = spins(query, given.getOrDefault("--spin-us", "0"));
        name = given.getOrDefault("--name", query);
        if (!name.matches("[A-Za-z0-9_-]{1,64}")) {
            throw new Wrong("--name is \"" + name + "\", and letters, digits, _ and - are expected");
        }
        results = given.containsKey("--results") ? Path.of(given.get("--results")).toAbsolutePath() : null;
        isKept = given.containsKey("--keep");
    }

    private static Path file(String key, String value) throws Wrong {
        if (value == null) {
            return null;
        }
        Path file = Path.of(value).toAbsolutePath();
        if (!Files.isReadable(file) || Files.isDirectory(file)) {
            throw new Wrong(key + " is " + value + ", which is no file that can be read");
        }
        return file;
    }

    private static double rate(String value) throws Wrong {
        if (value == null) {
            throw new Wrong("--rate N is missing: records per second");
        }
        try {
            double rate = Double.parseDouble(value);
            if (rate > 0 && rate <= 1e7) {
                return rate;
            }
        } catch (NumberFormatException other) {
            // The message below shows the value.
        }
        throw new Wrong("--rate is " + value + ", and a number above 0 and up to 10000000 is expected");
    }

    private static long number(String key, String value, long least, long most) throws Wrong {
        try {
            long number = Long.parseLong(value);
            if (least <= number && number <= most) {
                return number;
            }
        } catch (NumberFormatException other) {
            // The message below shows the value.
        }
        throw new Wrong(key + " is " + value + ", and a whole number from " + least + " to " + most + " is expected");
    }

    private static Map<String, Integer> spins(String query, String value) throws Wrong {
        Map<String, Integer> spins = new HashMap<>();
        List<String> operators = Operators.of(query);
        if (!value.contains("=")) {
            int micros = (int) number("--spin-us", value, 0, SPIN_US_MAX);
            operators.forEach(operator -> spins.put(operator, micros));
            return spins;
        }
        for (String part : value.split(",", -1)) {
            String[] pair = part.split("=", 2);
            if (pair.length < 2 || !operators.contains(pair[0])) {
                throw new Wrong(
                        "--spin-us has \"" + part + "\", and OPERATOR=MICROSECONDS is expected, with an operator of "
                                + String.join(", ", operators));
            }
            spins.put(pair[0], (int) number("--spin-us of " + pair[0], pair[1], 0, SPIN_US_MAX));
        }
        return spins;
    }

    /** Keeps a setting of Storm: a number or a truth value by its form, otherwise text. */
    private void setting(String text) throws Wrong {
        String[] pair = text.split("=", 2);
        if (pair.length < 2 || pair[0].isEmpty()) {
            throw new Wrong("--conf is \"" + text + "\", and KEY=VALUE is expected");
        }
        Object value = pair[1];
        if (pair[1].matches("-?[0-9]{1,18}")) {
            value = Long.valueOf(pair[1]);
        } else if (pair[1].matches("-?[0-9]+\\.[0-9]+")) {
            value = Double.valueOf(pair[1]);
        } else if (pair[1].equals("true") || pair[1].equals("false")) {
            value = Boolean.valueOf(pair[1]);
        }
        configuration.put(pair[0], value);
    }
}
