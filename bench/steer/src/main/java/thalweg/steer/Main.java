package thalweg.steer;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Starts a query on a running Storm or Flink, waits for its figures, prints them as one line of JSON, and ends the query.
 *
 * <p>Exit codes: 0 for success, 1 when the engine fails or gives no figures in time, 2 for a wrong option.
 */
public final class Main {
    /** Longest time that the engine may take, beside the run itself, from the submission to the figures. */
    private static final int START_SECONDS_MAX = 180;
    private static final long LOOK_AGAIN_MS = 200;

    private Main() {}

    /** An engine that runs queries. */
    interface Engine {
        /** Starts a query, whose classes are in {@code jar}. */
        void start(Options options, Plan plan, String jar) throws Exception;

        /** Ends the query. */
        void end() throws Exception;
    }

    /** Runs the command line. */
    public static void main(String... words) {
        PrintStream figures = System.out;
        // A client logs to the standard output, which is for the figures alone.
        System.setOut(System.err);
        int code;
        try {
            code = run(new Options(words), figures);
        } catch (Options.Wrong wrong) {
            System.err.println("steer: " + wrong.getMessage() + "\n\n" + Options.USAGE);
            code = 2;
        } catch (Exception failed) {
            System.err.println("steer: " + failed);
            code = 1;
        }
        System.exit(code);
    }

    private static int run(Options options, PrintStream figures) throws Exception {
        Path results = options.results;
        if (results == null) {
            results = Files.createTempDirectory("thalweg-steer").resolve("figures.json");
        }
        Files.deleteIfExists(results);
        Plan plan = new Plan(
                options.query, options.input == null ? "" : options.input.toString(), options.rate, options.warmupSeconds,
                options.seconds, options.queueRecords, results.toString(), options.ackers > 0);
        // Only the classes of the engine that runs the query need to be there.
        Engine engine = options.query.equals(Operators.LINEAR_ROAD) ? new OnFlink() : new OnStorm();
        engine.start(options, plan, jar());
        try {
            int seconds = START_SECONDS_MAX + options.warmupSeconds + options.seconds;
            long begin = System.nanoTime();
            while (!Files.exists(results)) {
                if (System.nanoTime() - begin > seconds * 1_000_000_000L) {
                    throw new IOException("no figures came within " + seconds + " s; see the worker's log");
                }
                Thread.sleep(LOOK_AGAIN_MS);
            }
            figures.print(Files.readString(results));
        } finally {
            if (!options.isKept) {
                engine.end();
            }
        }
        return 0;
    }

    private static String jar() throws Exception {
        Path jar = Path.of(Main.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        if (Files.isDirectory(jar)) {
            throw new IOException("started from classes: build the jar by mvn -q -B package, and start it from there");
        }
        return jar.toString();
    }
}
