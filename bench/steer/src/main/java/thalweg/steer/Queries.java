package thalweg.steer;

import java.util.Map;
import java.util.Set;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.TopologyBuilder;

/**
 * The two queries for Storm, each of ten operators with one executor.
 *
 * <pre>
 * etl    source - parse - range_filter - bloom_filter - interpolate - join - annotate - to_senml - publish - sink
 *
 *                        +- average ----------------+
 * stats  source - parse -+- kalman - regression ----+- plot - pack - upload - sink
 *                        +- distinct ---------------+
 * </pre>
 *
 * <p>Source: Shukla, Chaturvedi and Simmhan, "RIoTBench: An IoT benchmark for distributed stream processing systems"; the
 * constants are those of its Smart Cities data.
 */
final class Queries {
    private final TopologyBuilder builder = new TopologyBuilder();
    private final Map<String, Integer> spinUs;

    private Queries(Map<String, Integer> spinUs) {
        this.spinUs = spinUs;
    }

    /**
     * Makes the topology of a plan's query.
     *
     * @param spinUs extra microseconds of CPU time for each record, by operator
     * @param sensors sensors that the Bloom filter knows
     * @param places annotations by sensor
     */
    static StormTopology topology(
            Plan plan, Map<String, Integer> spinUs, Set<String> sensors, Map<String, String> places) {
        Queries query = new Queries(spinUs);
        query.builder.setSpout("source", new LineSpout(plan, spinUs.getOrDefault("source", 0)), 1);
        query.add("parse", new SenMl.Parse(), "source");
        if (plan.workload().equals("etl")) {
            query.add("range_filter", new Cleaning.RangeFilter(), "parse");
            query.add("bloom_filter", new Cleaning.BloomFilter(sensors), "range_filter");
            query.add("interpolate", new Cleaning.Interpolate(), "bloom_filter");
            query.add("join", new Cleaning.Join(), "interpolate");
            query.add("annotate", new Cleaning.Annotate(places), "join");
            query.add("to_senml", new SenMl.Write(), "annotate");
            query.add("publish", new Cleaning.Publish(), "to_senml");
            query.add("sink", new Sink(), "publish");
        } else {
            query.add("average", new Statistics.Average(), "parse");
            query.add("kalman", new Statistics.Kalman(), "parse");
            query.add("regression", new Statistics.Regression(), "kalman");
            query.add("distinct", new Statistics.Distinct(), "parse");
            query.add("plot", new Statistics.Plot(), "average", "regression", "distinct");
            query.add("pack", new Statistics.Pack(), "plot");
            query.add("upload", new Statistics.Upload(), "pack");
            query.add("sink", new Sink(), "upload");
        }
        return query.builder.createTopology();
    }

    private void add(String name, Operator<?, ?> operator, String... inputs) {
        BoltDeclarer bolt = builder.setBolt(name, new OperatorBolt<>(operator, spinUs.getOrDefault(name, 0)), 1);
        for (String input : inputs) {
            bolt.shuffleGrouping(input);
        }
    }
}
