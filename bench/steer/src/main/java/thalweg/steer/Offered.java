package thalweg.steer;

/**
 * The queue in front of the source: records that became due at a fixed rate and were not yet taken, the oldest first.
 *
 * <p>Records are numbered, and the record with number i is due i / rate seconds after the start, whether the topology keeps up
 * or not. So the queue needs no thread that fills it and no memory: its length follows from the clock and the number of taken
 * records. Its owner, the source, takes records; any thread may ask for the length.
 */
final class Offered {
    private static final double SECOND_NS = 1e9;
    private final long startNs;
    private final double rate;
    private final long count;
    private final long bound;
    /** Records taken so far. Written by the source's thread alone. */
    private volatile long taken;

    /**
     * Creates a queue.
     *
     * @param rate records per second
     * @param count records in all; none is due after them
     * @param bound longest length that is reported
     */
    Offered(long startNs, double rate, long count, long bound) {
        this.startNs = startNs;
        this.rate = rate;
        this.count = count;
        this.bound = bound;
    }

    /** Returns the number of the next due record, and takes it; -1 if none is due. */
    long take(long nowNs) {
        long next = taken;
        if (next >= due(nowNs)) {
            return -1;
        }
        taken = next + 1;
        return next;
    }

    /** Returns the moment at which a record is due. */
    long dueNs(long number) {
        return startNs + (long) (number * (SECOND_NS / rate));
    }

    /** Returns the number of records that are due and not yet taken, without the bound. */
    long behind(long nowNs) {
        return Math.max(0, due(nowNs) - taken);
    }

    /** Returns the length of the queue, at most its bound. */
    long length(long nowNs) {
        return Math.min(bound, behind(nowNs));
    }

    /** Returns the number of records that were due until now: the first one at once. */
    long due(long nowNs) {
        long elapsed = nowNs - startNs;
        return elapsed < 0 ? 0 : Math.min(count, 1 + (long) (elapsed * (rate / SECOND_NS)));
    }
}
