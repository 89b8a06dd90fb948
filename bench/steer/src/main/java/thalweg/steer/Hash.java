package thalweg.steer;

import java.nio.charset.StandardCharsets;

/** A hash of text with 64 well mixed bits, equal on all machines, which is that of our own engine's queries. */
final class Hash {
    private Hash() {}

    /** Returns the FNV-1a hash of the text in UTF-8, mixed by the finalizer of SplitMix64, since FNV's high bits are poor. */
    static long of(String text) {
        long hash = 0xcbf29ce484222325L;
        for (byte part : text.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ part & 0xff) * 0x100000001b3L;
        }
        hash = (hash ^ hash >>> 30) * 0xbf58476d1ce4e5b9L;
        hash = (hash ^ hash >>> 27) * 0x94d049bb133111ebL;
        return hash ^ hash >>> 31;
    }
}
