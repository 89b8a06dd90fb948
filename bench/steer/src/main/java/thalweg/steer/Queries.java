package thalweg.steer;

import java.util.Map;
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
 * stats  source - parse -+- kalman - regression ----+- accumulate - plot - upload - sink
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
     * @param places the {@link Registry} of ETL
     */
    static StormTopology topology(Plan plan, Map<String, Integer> spinUs, Map<String, String> places) {
        Queries query = new Queries(spinUs);
        query.builder.setSpout("source", new LineSpout(plan, spinUs.getOrDefault("source", 0)), 1);
        boolean isEtl = plan.workload().equals(Operators.ETL);
        query.add("parse", new SenMl.Parse(isEtl), "source");
        if (isEtl) {
            query.add("range_filter", new Cleaning.RangeFilter(), "parse");
            query.add("bloom_filter", new Cleaning.BloomFilter(places.keySet()), "range_filter");
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
            query.add("accumulate", new Statistics.Accumulate(), "average", "regression", "distinct");
            query.add("plot", new Statistics.Plot(), "accumulate");
            query.add("upload", new Statistics.Upload(), "plot");
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
