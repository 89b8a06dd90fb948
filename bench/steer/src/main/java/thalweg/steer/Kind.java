package thalweg.steer;

/** A measured quantity of the Smart Cities data, with the range of RIoTBench's range filter for it. */
enum Kind {
    TEMPERATURE("temperature", "far", -12.5, 43.1),
    HUMIDITY("humidity", "per", 10.7, 95.2),
    LIGHT("light", "per", 1345, 26282),
    DUST("dust", "per", 186.61, 5188.21),
    AIR_QUALITY("airquality_raw", "per", 17, 363);

    /** Number of kinds, which is the number of observations in each record. */
    static final int COUNT = values().length;

    /** Name of the quantity in SenML. */
    final String label;
    /** Unit of the quantity in SenML. */
    final String unit;
    /** Least plausible value. */
    final double least;
    /** Largest plausible value. */
    final double most;

    Kind(String label, String unit, double least, double most) {
        this.label = label;
        this.unit = unit;
        this.least = least;
        this.most = most;
    }

    /** Returns the kind with this name in SenML, or null if there is none. */
    static Kind of(String label) {
        for (Kind kind : values()) {
            if (kind.label.equals(label)) {
                return kind;
            }
        }
        return null;
    }
}
