package thalweg.steer;

/** Keys of state: one sensor's values of one kind. */
final class Keys {
    private Keys() {}

    /** Returns the key of the observation's sensor and kind. */
    static String of(Stamped.Observation input) {
        return input.kind().label + ' ' + input.meta().sensor();
    }
}
