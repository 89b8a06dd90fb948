package thalweg.steer;

import java.io.Serializable;

/**
 * What a run is to do, for the worker.
 *
 * @param workload {@code etl}, {@code stats} or {@code lrb}
 * @param input file of SenML lines; empty for Linear Road
 * @param rate records per second
 * @param warmupSeconds seconds before figures count
 * @param seconds seconds in which figures count
 * @param queueRecords longest length of the source's queue that is reported
 * @param results file for the figures
 * @param isAcked true if records are tracked until the sink has them
 */
record Plan(
        String workload,
        String input,
        double rate,
        int warmupSeconds,
        int seconds,
        long queueRecords,
        String results,
        boolean isAcked)
        implements Serializable {}
