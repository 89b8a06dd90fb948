package thalweg.steer;

import java.util.function.Consumer;

/** The end of a query: gives each record to the {@link Meter}. */
final class Sink implements Operator<Stamped, Stamped> {
    @Override
    public void take(Stamped input, Consumer<? super Stamped> out) {
        Meter.of().arrived(input.moments(), System.nanoTime());
    }
}
