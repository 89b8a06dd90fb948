package thalweg.steer;

import com.codahale.metrics.Gauge;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/**
 * The source: sends the lines of a file at a fixed rate, and reports how many wait in front of it as the gauge
 * {@link #GAUGE}.
 *
 * <p>Source of the gauge: "Lachesis", section 4.1.2 "Dealing with source operators".
 */
final class LineSpout extends BaseRichSpout {
    /** Name of the gauge for the length of the queue in front of the source. */
    static final String GAUGE = "source-queue";
    private final Plan plan;
    private final int spinUs;
    private transient SpoutOutputCollector collector;
    private transient Replay replay;
    private transient volatile Offered offered;

    LineSpout(Plan plan, int spinUs) {
        this.plan = plan;
        this.spinUs = spinUs;
    }

    // Storm 1 has the raw type here and Storm 2 has not. The raw type overrides both.
    @Override
    @SuppressWarnings("rawtypes")
    public void open(Map configuration, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        try {
            replay = new Replay(Path.of(plan.input()));
        } catch (IOException failed) {
            throw new IllegalStateException("could not read the input: " + failed.getMessage(), failed);
        }
        Gauge<Long> length = () -> offered == null ? 0 : offered.length(System.nanoTime());
        context.registerGauge(GAUGE, length);
    }

    /** Starts the run. Storm calls this when all operators are ready. */
    @Override
    public void activate() {
        if (offered == null) {
            long start = System.nanoTime();
            long count = (long) Math.ceil(plan.rate() * (plan.warmupSeconds() + plan.seconds()));
            offered = new Offered(start, plan.rate(), count, plan.queueRecords());
            Meter.of().start(plan, offered, start);
        }
    }

    @Override
    public void nextTuple() {
        long now = System.nanoTime();
        long number = offered.take(now);
        if (number < 0) {
            return;
        }
        Meter.of().took(number, now);
        Spin.use(spinUs);
        var moments = new Stamped.Moments(number, offered.dueNs(number), now);
        Values values = new Values(new Stamped.Line(moments, replay.line(number)));
        if (plan.isAcked()) {
            collector.emit(values, number);
        } else {
            collector.emit(values);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("record"));
    }
}
