import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;

/**
 * Critical sections of a chaos run and their history, as `lab/chaos/clients/operations.mjs` has them for clients of this library.
 *
 * <p>Redisson keeps no validity: a thread holds a lock until it asks Redis. So a holder asks for the TTL of its lease and then whether
 * it still holds the lock. If so, the lease was its own, and Redis keeps it that long even if the JVM does nothing more.
 */
final class ChaosSections {
  /** ms between two looks of a holder. */
  private static final int LOOK = 10;
  /** ms by which a TTL may be too long: Redis rounds it. */
  private static final int ROUNDING = 2;
  /** Redisson's own limits, in ms: of a try of a command, of the delay before the next one, and of a subscription. */
  private static final int TIMEOUT = Integer.getInteger("side.timeout", 3_000);
  private static final int LONGEST_DELAY = 2_000;
  private static final int SUBSCRIPTION = 7_500;
  /** How often Redisson retries a command. */
  private static final int RETRIES = 4;
  /** ms beyond its wait that an acquisition may take: a command with all its retries, and a subscription. */
  private static final int SLACK = (RETRIES + 1) * TIMEOUT + RETRIES * LONGEST_DELAY + SUBSCRIPTION;
  /** ms between two ticks of the thread that notices that the JVM did not run, and how late a tick may be. */
  private static final int TICK = 50;
  private static final int LATE = 100;
  private static final int DIGITS = 12;

  private final RedissonClient redisson;
  private final long watchdog;
  private final String client;
  private final long origin;
  private final FileChannel history;
  private final Path counters;

  /** @param origin of the clock that all processes share: System.nanoTime() is CLOCK_MONOTONIC, too */
  ChaosSections(RedissonClient redisson, String client, long origin, String history, String counters) throws IOException {
    this.redisson = redisson;
    this.watchdog = redisson.getConfig().getLockWatchdogTimeout();
    this.client = client;
    this.origin = origin;
    this.history = FileChannel.open(Path.of(history), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    this.counters = Path.of(counters);
    Thread watch = new Thread(this::watchForStalls);
    watch.setDaemon(true);
    watch.start();
    note("up", "library", "redisson");
  }

  /** Acquires a lock, holds it, releases it; answers the code of an acquisition that failed. */
  String perform(RLock lock, String op, String kind, String through, String... terms) throws InterruptedException {
    long wait = Long.parseLong(terms[0]);
    long lease = Long.parseLong(terms[1]);
    boolean isFinal = terms[4].equals("true");
    String mode = kind.equals("read") ? "read" : "exclusive";
    List<String> keys = List.of(lock.getName());
    double asked = now();
    note(
        "invoke", "op", op, "kind", kind, "keys", keys, "mode", mode, "through", through, "wait", wait, "slack", SLACK,
        "lease", lease, "final", isFinal);
    try {
      if (!take(lock, through, wait, lease)) return failed(op, "LOCK_TIMEOUT");
    } catch (RedisException error) {
      failed(op, "LOCK_STORE");
      // The command may have been executed. The next acquisition of this thread would re-enter that hold.
      release(lock);
      return "LOCK_STORE";
    }
    note("ok", "op", op, "owner", op, "tokens", Map.of());
    try {
      new Section(lock, op, kind, lease, asked).run(Long.parseLong(terms[2]), terms[3].equals("re-enter"));
    } catch (RedisException error) {
      // Redis does not answer: only the last look is certain.
    }
    note("release", "op", op);
    release(lock);
    return "";
  }

  /** Acquires and releases a lock of its own. */
  String pulse(RLock lock, long lease) throws InterruptedException {
    double from = now();
    boolean ok = false;
    try {
      ok = lock.tryLock(0, lease, TimeUnit.MILLISECONDS);
    } catch (RedisException error) {
      // It counts as no answer.
    }
    ok = release(lock) && ok;
    note("pulse", "from", from, "ok", ok);
    return "";
  }

  private static boolean take(RLock lock, String through, long wait, long lease) throws InterruptedException {
    if (through.equals("tryLock")) return lock.tryLock(wait, lease, TimeUnit.MILLISECONDS);
    if (lease < 0) lock.lock();
    else lock.lock(lease, TimeUnit.MILLISECONDS);
    return true;
  }

  /** Releases all that the thread holds of a lock; whether Redis has answered. */
  private boolean release(RLock lock) {
    try {
      while (lock.isHeldByCurrentThread()) lock.unlock();
      return true;
    } catch (IllegalMonitorStateException error) {
      // The lease has ended between the two commands.
      return true;
    } catch (RedisException error) {
      return false;
    }
  }

  private String failed(String op, String code) {
    note("fail", "op", op, "code", code);
    return code;
  }

  /** The time for which a thread holds a lock. */
  private final class Section {
    private final RLock lock;
    private final String op;
    private final boolean reads;
    private final long lease;
    private boolean isHeld = true;
    private boolean hasLooked;
    private double until;

    Section(RLock lock, String op, String kind, long lease, double asked) {
      this.lock = lock;
      this.op = op;
      this.reads = kind.equals("read");
      this.lease = lease;
      // Redis keeps it that long even if the answer arrives later.
      this.until = asked + (lease < 0 ? watchdog : lease) - ROUNDING;
    }

    void run(long length, boolean reenters) throws InterruptedException {
      double end = now() + length;
      look();
      long before = reads ? 0 : readCounter();
      if (reenters && isHeld && !reads) reenter();
      while (isHeld && now() < end) {
        Thread.sleep(Math.min(LOOK, Math.max(0, (long) (end - now()))));
        look();
      }
      if (isHeld && !reads && now() < until) addToCounter(before);
      if (isHeld) look();
    }

    private void look() {
      double asked = now();
      long left = reads ? redisson.getKeys().remainTimeToLive(leaseOfReader()) : lock.remainTimeToLive();
      // It is held up to here at least if it is held now: a hold that was lost comes back only by another acquisition.
      double at = now();
      if (!lock.isHeldByCurrentThread()) {
        lost();
        return;
      }
      until = Math.max(at, asked + left - ROUNDING);
      hasLooked = true;
      note(at, "look", "op", op, "held", true, "until", until);
    }

    /** Redisson keeps the lease of each reader in a key of its own: the TTL of the lock is that of the longest one. */
    private String leaseOfReader() {
      long thread = Thread.currentThread().getId();
      return "{" + lock.getName() + "}:" + redisson.getId() + ":" + thread + ":rwlock_timeout:1";
    }

    /** Acquires the lock a second time, until the end of the section. */
    private void reenter() throws InterruptedException {
      if (!lock.tryLock(0, lease, TimeUnit.MILLISECONDS)) return;
      // Otherwise the first hold was lost before, and this is another one.
      if (lock.getHoldCount() < 2) lost();
    }

    private void lost() {
      isHeld = false;
      // A hold whose answer came when its lease was over has never been one.
      if (hasLooked || now() < until) note("lost", "op", op);
    }

    private long readCounter() {
      ByteBuffer digits = ByteBuffer.allocate(DIGITS);
      try (FileChannel file = FileChannel.open(counters.resolve(lock.getName()), StandardOpenOption.READ)) {
        file.read(digits, 0);
        return Long.parseLong(new String(digits.array(), StandardCharsets.US_ASCII));
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    private void addToCounter(long before) {
      long value = before + 1;
      note("update", "op", op, "key", lock.getName(), "phase", "begin", "value", value);
      byte[] digits = String.format(Locale.ROOT, "%0" + DIGITS + "d", value).getBytes(StandardCharsets.US_ASCII);
      try (FileChannel file = FileChannel.open(counters.resolve(lock.getName()), StandardOpenOption.WRITE)) {
        file.write(ByteBuffer.wrap(digits), 0);
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
      note("update", "op", op, "key", lock.getName(), "phase", "end");
    }
  }

  private void watchForStalls() {
    for (double last = now(); ; ) {
      try {
        Thread.sleep(TICK);
      } catch (InterruptedException error) {
        return;
      }
      double at = now();
      if (at - last > TICK + LATE) note("stall", "from", last, "to", at);
      last = at;
    }
  }

  private double now() {
    return (System.nanoTime() - origin) / 1e6;
  }

  private void note(String type, Object... details) {
    note(now(), type, details);
  }

  /** Each line has reached the kernel before the thread continues: a JVM that is killed has left all that it knew. */
  private synchronized void note(double at, String type, Object... details) {
    StringBuilder line = new StringBuilder("{\"at\":").append(at);
    line.append(",\"type\":").append(json(type)).append(",\"client\":").append(json(client));
    for (int i = 0; i < details.length; i += 2) {
      line.append(',').append(json(details[i])).append(':').append(json(details[i + 1]));
    }
    ByteBuffer bytes = ByteBuffer.wrap(line.append("}\n").toString().getBytes(StandardCharsets.UTF_8));
    try {
      history.write(bytes);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** The names of a run contain nothing that needs an escape. */
  private static String json(Object value) {
    if (value instanceof String) return '"' + (String) value + '"';
    if (value instanceof List) return "[" + String.join(",", ((List<?>) value).stream().map(ChaosSections::json).toList()) + "]";
    return value instanceof Map ? "{}" : String.valueOf(value);
  }
}
