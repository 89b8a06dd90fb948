package thalweg.steer;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Uses CPU time, as a stand-in for operators that cost more than ours. */
final class Spin {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** Steps between two looks at the clock: some 5 us, so that the looks cost little. */
    private static final int STEPS = 5_000;

    private Spin() {}

    /**
     * Uses {@code micros} of this thread's CPU time. Time in which the thread does not run counts nothing, so an operator
     * costs the same on a busy machine.
     */
    static void use(int micros) {
        if (micros <= 0) {
            return;
        }
        long end = THREADS.getCurrentThreadCpuTime() + micros * 1_000L;
        long mixed = end;
        do {
            for (int step = 0; step < STEPS; step++) {
                mixed = mixed * 6364136223846793005L + 1442695040888963407L;
            }
        } while (THREADS.getCurrentThreadCpuTime() < end && mixed != 0);
    }
}
