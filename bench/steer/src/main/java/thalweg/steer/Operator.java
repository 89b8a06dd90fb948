package thalweg.steer;

import java.io.Serializable;
import java.util.function.Consumer;

/**
 * One operator of a query, independent of an engine. An instance belongs to one thread, and is sent to it by Java's
 * serialization before its first record.
 *
 * @param <I> type of the records that it takes
 * @param <O> type of its results
 */
interface Operator<I, O> extends Serializable {
    /** Takes one record, and gives each of its results to {@code out}, in order. */
    void take(I input, Consumer<? super O> out);
}
