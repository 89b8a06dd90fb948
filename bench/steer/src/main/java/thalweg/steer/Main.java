package thalweg.steer;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.utils.NimbusClient;
import org.apache.storm.utils.Utils;

/**
 * Submits a query to a running Storm, waits for its figures, prints them as one line of JSON, and ends the topology.
 *
 * <p>Exit codes: 0 for success, 1 when Storm fails or gives no figures in time, 2 for a wrong option.
 */
public final class Main {
    /** Longest time that Storm may take, beside the run itself, from the submission to the figures. */
    private static final int START_SECONDS_MAX = 180;
    private static final long LOOK_AGAIN_MS = 200;

    private Main() {}

    /** Runs the command line. */
    public static void main(String... words) {
        PrintStream figures = System.out;
        // Storm's client logs to the standard output, which is for the figures alone.
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
        Replay replay = new Replay(options.input);
        Map<String, String> places = options.metadata == null ? Map.of() : Cleaning.Annotate.read(options.metadata);
        Path results = options.results;
        if (results == null) {
            results = Files.createTempDirectory("thalweg-steer").resolve("figures.json");
        }
        Files.deleteIfExists(results);
        Plan plan = new Plan(
                options.query, options.input.toString(), options.rate, options.warmupSeconds, options.seconds,
                options.queueRecords, results.toString(), options.ackers > 0);

        Map<String, Object> configuration = new HashMap<>();
        configuration.put(Config.TOPOLOGY_WORKERS, 1);
        configuration.put(Config.TOPOLOGY_ACKER_EXECUTORS, options.ackers);
        configuration.putAll(options.configuration);
        // Storm sends this jar to its supervisors.
        System.setProperty("storm.jar", jar());
        var topology = Queries.topology(plan, options.spinUs, replay.sensors(), places);
        StormSubmitter.submitTopology(options.name, configuration, topology);
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
                end(options.name);
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

    // Storm 2 has a newer way to make a client, which Storm 1 has not.
    @SuppressWarnings("deprecation")
    private static void end(String name) throws Exception {
        Map<String, Object> configuration = Utils.readStormConfig();
        KillOptions now = new KillOptions();
        now.set_wait_secs(0);
        try (NimbusClient client = NimbusClient.getConfiguredClient(configuration)) {
            // The type of the client differs between Storm 1 and 2, so the method is looked up by its name.
            Object nimbus = NimbusClient.class.getMethod("getClient").invoke(client);
            ((Nimbus.Iface) nimbus).killTopologyWithOpts(name, now);
        }
    }
}
