package thalweg.steer;

import java.util.List;
import java.util.Map;

/** Names of the queries, and of their operators in the order of the stream. No class of an engine is needed here. */
final class Operators {
    /** Name of the query with one result for each record. */
    static final String ETL = "etl";
    /** Name of the query that runs on Flink. */
    static final String LINEAR_ROAD = "lrb";
    private static final Map<String, List<String>> OF = Map.of(
            ETL,
            List.of(
                    "source", "parse", "range_filter", "bloom_filter", "interpolate", "join", "annotate", "to_senml", "publish",
                    "sink"),
            "stats",
            List.of("source", "parse", "average", "kalman", "regression", "distinct", "accumulate", "plot", "upload", "sink"),
            LINEAR_ROAD,
            List.of("source", "type", "report", "standing", "accidents", "speeds", "counts", "tolls", "merge", "sink"));
    /** Names of the queries. */
    static final List<String> QUERIES = List.of(ETL, "stats", LINEAR_ROAD);

    private Operators() {}

    /** Returns the operators of one of {@link #QUERIES}. */
    static List<String> of(String query) {
        return OF.get(query);
    }
}
