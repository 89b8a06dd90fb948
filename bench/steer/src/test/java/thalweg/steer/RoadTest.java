package thalweg.steer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RoadTest {
    private static final int CARS = 3_000;
    /** With minutes of 60 s, 100 records per second are 3,000 cars. */
    private final Road road = new Road(100, 60_000);

    @Test
    void eachCarReportsTwiceAMinuteAndDrivesOn() {
        Road.Report first = road.record(CARS + 50);
        Road.Report next = road.record(2 * CARS + 50);
        assertEquals(50, first.car);
        assertEquals(50, next.car);
        int way = Road.SEGMENTS * 5_280;
        assertEquals(first.speed * 5_280L / 120, Math.floorMod(next.position - first.position, way));
        assertEquals(next.position / 5_280, next.segment);
        assertTrue(next.segment < Road.SEGMENTS && next.lane <= Road.EXIT_LANE);
    }

    @Test
    void carsStandInPairsAtOnePlace() {
        Map<Long, Set<Long>> standing = new HashMap<>();
        for (long number = 0; number < 4 * CARS; number++) {
            Road.Report report = road.record(number);
            if (report.speed == 0) {
                standing.computeIfAbsent(report.placeKey(), key -> new HashSet<>()).add(report.car);
            }
        }
        // Four of 1,000 cars stand, at two places.
        assertEquals(2 * CARS / 1_000, standing.size());
        assertTrue(standing.values().stream().allMatch(cars -> cars.size() == 2), standing.toString());
    }

    @Test
    void oneOfAHundredRecordsIsARequest() {
        int requests = 0;
        for (long number = 0; number < 1_000; number++) {
            requests += road.record(number).isReport ? 0 : 1;
        }
        assertEquals(10, requests);
    }

    @Test
    void keysTellPlacesAndSegmentsApart() {
        Road.Report one = road.record(500);
        Road.Report other = road.record(500);
        assertEquals(one.placeKey(), other.placeKey());
        other.lane = (one.lane + 1) % (Road.EXIT_LANE + 1);
        assertNotEquals(one.placeKey(), other.placeKey());
        assertEquals(one.segmentKey(), other.segmentKey());
        other.direction = 1 - one.direction;
        assertNotEquals(one.segmentKey(), other.segmentKey());
    }

    @Test
    void aSegmentCostsSomethingIfItIsCrowdedAndSlow() {
        assertEquals(200, OnFlink.toll(60, 39.9));
        assertEquals(0, OnFlink.toll(60, 40));
        assertEquals(0, OnFlink.toll(50, 10));
        assertEquals(2, OnFlink.toll(51, 10));
    }
}
