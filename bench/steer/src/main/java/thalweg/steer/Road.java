package thalweg.steer;

import java.util.SplittableRandom;

/**
 * Traffic of Linear Road by number: record i is the next record of its car, so any record follows from its number alone.
 *
 * <p>Each car reports twice a minute. Cars drive 40 to 79 miles an hour, slow ones in crowded parts; some stand at one place in
 * pairs, which are accidents. One of 100 records is a request, which the query leaves out.
 */
final class Road {
    /** Reports of a car in a minute. */
    static final int REPORTS_PER_MINUTE = 2;
    /** Lane on which cars leave an expressway. */
    static final int EXIT_LANE = 4;
    static final int SEGMENTS = 100;
    /** Cars for each expressway. */
    private static final int CARS_PER_WAY = 10_000;
    /** Records of which one is a request. */
    private static final int REQUEST_EVERY = 100;
    /** Cars of which four stand, two at each of two places. */
    private static final int PAIR_EVERY = 1_000;
    private static final int FEET_PER_SEGMENT = 5_280;
    private final long cars;

    /** Creates traffic of {@code rate} records per second, with minutes of this length. */
    Road(double rate, int minuteMs) {
        cars = Math.max(2, Math.round(rate * minuteMs / 1_000 / REPORTS_PER_MINUTE));
    }

    /** A record of a car. */
    public static final class Report {
        public boolean isReport;
        public long car;
        public int speed;
        public int way;
        public int lane;
        public int direction;
        public int segment;
        public int position;
        public long dueNs;
        public long sentNs;

        /** Returns the key of the car's segment. */
        long segmentKey() {
            return ((long) way * 2 + direction) * SEGMENTS + segment;
        }

        /** Returns the key of the car's place: lane and position as well. */
        long placeKey() {
            return (segmentKey() * (EXIT_LANE + 1) + lane) * FEET_PER_SEGMENT + position % FEET_PER_SEGMENT;
        }
    }

    /** Returns the record with this number, without its moments. */
    Report record(long number) {
        long car = number % cars;
        long turn = number / cars;
        Report report = new Report();
        report.isReport = number % REQUEST_EVERY != REQUEST_EVERY - 1;
        report.car = car;
        report.way = (int) (car / CARS_PER_WAY);
        report.direction = (int) (car & 1);
        // The second car of a pair stands where the first one does.
        boolean isStanding = car % PAIR_EVERY < 4 && car / 4 * 4 + 3 < cars;
        long place = isStanding ? car % PAIR_EVERY & 1 | car / PAIR_EVERY * PAIR_EVERY : car;
        SplittableRandom random = new SplittableRandom(place * 0x9e3779b97f4a7c15L);
        int start = random.nextInt(SEGMENTS * FEET_PER_SEGMENT);
        int speed = 40 + random.nextInt(40);
        report.lane = isStanding ? 1 + (int) (place & 1) : new SplittableRandom(car ^ turn << 40).nextInt(EXIT_LANE + 1);
        report.speed = isStanding ? 0 : start / FEET_PER_SEGMENT % 10 == 0 ? speed / 2 : speed;
        // Half a minute at this speed, in feet.
        long driven = turn * report.speed * FEET_PER_SEGMENT / 120;
        report.position = (int) ((start + driven) % (SEGMENTS * FEET_PER_SEGMENT));
        report.segment = report.position / FEET_PER_SEGMENT;
        return report;
    }
}
