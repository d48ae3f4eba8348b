/** What a caller asks for, and how much of the key it has then: {@code weight} of {@code limit}. */
record Request(String type, int weight, int limit) {
  static final Request EXCLUSIVE = new Request("", 1, 1);

  /** More readers than there are callers; a writer has the weight of all of them. */
  private static final int READERS = 10_000;

  private static final Request READ = new Request("read", 1, READERS);
  private static final Request WRITE = new Request("write", READERS, READERS);

  /** The request of the caller with this index, by the mode of the scenario: as in harness/loops.mjs. */
  static Request of(int i, Runner.Terms terms) {
    switch (terms.text("mode")) {
      case "permit":
        return new Request("permit", 1, terms.number("permits"));
      case "read":
        return READ;
      case "readWrite":
        // One of the callers of each process writes.
        return i > 0 ? READ : WRITE;
      default:
        return EXCLUSIVE;
    }
  }
}
