package thalweg.steer;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.utils.NimbusClient;
import org.apache.storm.utils.Utils;

/** Runs a query as a topology of the Storm whose {@code storm.yaml} is in the class path. */
final class OnStorm implements Main.Engine {
    private String name;

    @Override
    public void start(Options options, Plan plan, String jar) throws Exception {
        Replay replay = new Replay(options.input);
        Map<String, String> places = Map.of();
        if (options.query.equals(Operators.ETL)) {
            places = options.metadata == null ? Registry.of(replay.sensors()) : Registry.read(options.metadata);
        }
        Map<String, Object> configuration = new HashMap<>();
        configuration.put(Config.TOPOLOGY_WORKERS, 1);
        configuration.put(Config.TOPOLOGY_ACKER_EXECUTORS, options.ackers);
        configuration.putAll(options.configuration);
        // Storm sends this jar to its supervisors.
        System.setProperty("storm.jar", jar);
        name = options.name;
        StormSubmitter.submitTopology(name, configuration, Queries.topology(plan, options.spinUs, places));
    }

    // Storm 2 has a newer way to make a client, which Storm 1 has not.
    @Override
    @SuppressWarnings("deprecation")
    public void end() throws Exception {
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
