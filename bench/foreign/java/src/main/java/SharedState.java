import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The state of a measurement, in a file that all processes of the measurement map into their memory. Its layout is that
 * of harness/shared-state.mjs.
 */
final class SharedState {
  private static final int PHASE = 0;
  private static final int INSIDE = 1;
  private static final int VIOLATIONS = 2;
  private static final int WAITING = 3;
  private static final int COUNTER = 4;
  private static final int SECTIONS = 5;
  private static final int STOPPED = 1;
  private static final int RELEASED = 2;
  private static final int HEAD_BYTES = 64;
  private static final int FIRST_SLOT = 16;
  private static final int STRIDE = 16;
  private static final int FIRST_KEY = FIRST_SLOT + 64 * STRIDE;
  private static final int WORDS_OF_KEY = 2;
  private static final int BYTES = HEAD_BYTES + 4 * (FIRST_KEY + 10_000 * WORDS_OF_KEY);
  private static final int MEASURING = 1;
  private static final int OVER = 2;

  /** The index of the key in scenarios with a single one. */
  static final int SINGLE = -1;

  private static final VarHandle INTS = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
  private static final VarHandle TIMES =
      MethodHandles.byteBufferViewVarHandle(double[].class, ByteOrder.nativeOrder());

  private final ByteBuffer memory;
  private final int slot;

  private SharedState(ByteBuffer memory, int slot) {
    this.memory = memory;
    this.slot = slot;
  }

  static SharedState open(String path, int slot) throws IOException {
    if (path.isEmpty()) return new SharedState(ByteBuffer.allocateDirect(BYTES), slot);
    try (FileChannel file = FileChannel.open(Path.of(path), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return new SharedState(file.map(FileChannel.MapMode.READ_WRITE, 0, BYTES), slot);
    }
  }

  int slot() {
    return slot;
  }

  boolean isOver() {
    return get(PHASE) == OVER;
  }

  boolean isMeasuring() {
    return get(PHASE) == MEASURING;
  }

  double stopTime() {
    return (double) TIMES.getVolatile(memory, 8 * STOPPED);
  }

  void countCommands(int n) {
    add(FIRST_SLOT + slot * STRIDE, n);
  }

  void beginWaiting() {
    add(WAITING, 1);
  }

  void endWaiting() {
    add(WAITING, -1);
  }

  /**
   * Called on the first line of a section; returns the argument of {@code leave}. The counter is read here and written
   * in {@code leave}, without an atomic operation on the whole: if two sections overlap, an update is lost. {@code index}
   * is that of the key, or {@code SINGLE}.
   */
  int enter(Request request, int index) {
    if (add(insideOf(index), request.weight()) + request.weight() > request.limit()) add(VIOLATIONS, 1);
    return get(counterOf(index));
  }

  void leave(int counter, Request request, int index) {
    if (request.weight() == request.limit()) {
      INTS.setVolatile(memory, HEAD_BYTES + 4 * counterOf(index), counter + 1);
      add(SECTIONS, 1);
    }
    add(insideOf(index), -request.weight());
  }

  private static int insideOf(int index) {
    return index == SINGLE ? INSIDE : FIRST_KEY + index * WORDS_OF_KEY;
  }

  private static int counterOf(int index) {
    return index == SINGLE ? COUNTER : insideOf(index) + 1;
  }

  /** Called right before a release is sent. */
  void noteRelease() {
    TIMES.setVolatile(memory, 8 * RELEASED, get(WAITING) > 0 ? now() : Double.NaN);
  }

  /** ms since a release was sent while another caller waited, else NaN. */
  double sinceRelease() {
    return now() - (double) TIMES.getVolatile(memory, 8 * RELEASED);
  }

  /** ms of the system's monotonic clock, which is the same in all processes. */
  static double now() {
    return System.nanoTime() / 1e6;
  }

  private int get(int at) {
    return (int) INTS.getVolatile(memory, HEAD_BYTES + 4 * at);
  }

  private int add(int at, int n) {
    return (int) INTS.getAndAdd(memory, HEAD_BYTES + 4 * at, n);
  }
}
