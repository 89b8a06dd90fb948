package thalweg.steer;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** An {@link Operator} in a topology, with a given extra cost for each record. */
final class OperatorBolt<I, O> extends BaseRichBolt {
    private final Operator<I, O> operator;
    private final int spinUs;
    private transient OutputCollector collector;

    OperatorBolt(Operator<I, O> operator, int spinUs) {
        this.operator = operator;
        this.spinUs = spinUs;
    }

    // See LineSpout for the raw type.
    @Override
    @SuppressWarnings("rawtypes")
    public void prepare(Map configuration, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
    }

    @Override
    public void execute(Tuple tuple) {
        Spin.use(spinUs);
        // The topology connects operators of equal types only.
        @SuppressWarnings("unchecked")
        I input = (I) tuple.getValue(0);
        operator.take(input, result -> collector.emit(tuple, new Values(result)));
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("record"));
    }
}
