import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RBucket;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.BaseConfig;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;
import org.redisson.config.ShardedSubscriptionMode;
import org.redisson.misc.RedisURI;

/**
 * A client of Redisson that a test drives over stdin. Each line is `id thread command name arguments…`; the reply is
 * `id ok value` or `id error text`. Commands of one thread name run one after the other, on one Java thread. A command of
 * another kind of lock begins with that kind: `read.lock`.
 *
 * <p>Arguments of the program: `single`, `sentinel` or `cluster`; lockWatchdogTimeout in ms; the addresses, with commas between
 * them; for Sentinels the name of the master, for a Cluster the shardedSubscriptionMode. The properties `side.timeout` and
 * `side.ping` set timeout and pingConnectionInterval, in ms. `side.proxies` leads connections to servers that Sentinels name to
 * proxies: `port=port`, with commas between them.
 */
public final class RedissonSide {
  private static final Map<String, ExecutorService> THREADS = new ConcurrentHashMap<>();
  private static RedissonClient redisson;
  private static ChaosSections chaos;

  public static void main(String[] args) throws Exception {
    Config config = new Config();
    config.setLockWatchdogTimeout(Long.parseLong(args[1]));
    String[] addresses = args[2].split(",");
    switch (args[0]) {
      case "single":
        timed(config.useSingleServer().setAddress(addresses[0]).setConnectionMinimumIdleSize(2).setConnectionPoolSize(16));
        break;
      case "sentinel":
        // The tests run one Sentinel.
        few(config.useSentinelServers().setMasterName(args[3]).setCheckSentinelsList(false).addSentinelAddress(addresses))
            .setScanInterval(500)
            .setNatMapper(RedissonSide::proxied);
        break;
      case "cluster":
        few(config.useClusterServers().addNodeAddress(addresses))
            .setShardedSubscriptionMode(ShardedSubscriptionMode.valueOf(args[3]))
            .setScanInterval(500);
        break;
      default:
        throw new IllegalArgumentException(args[0]);
    }
    try {
      redisson = Redisson.create(config);
    } catch (RuntimeException error) {
      // Redis is not there. Threads of Redisson would keep the JVM alive.
      System.err.println(error);
      Runtime.getRuntime().halt(1);
    }
    print("0 ok ready");
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      THREADS.computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor()).execute(() -> answer(words));
    }
    // The test has ended, or crashed.
    Runtime.getRuntime().halt(0);
  }

  /** Few connections, to masters only. */
  private static <T extends BaseMasterSlaveServersConfig<T>> T few(T servers) {
    return timed(servers)
        .setReadMode(ReadMode.MASTER)
        .setMasterConnectionMinimumIdleSize(2)
        .setMasterConnectionPoolSize(16)
        .setSlaveConnectionMinimumIdleSize(1)
        .setSlaveConnectionPoolSize(2);
  }

  private static <T extends BaseConfig<T>> T timed(T servers) {
    return servers
        .setTimeout(Integer.getInteger("side.timeout", servers.getTimeout()))
        .setPingConnectionInterval(Integer.getInteger("side.ping", servers.getPingConnectionInterval()));
  }

  private static RedisURI proxied(RedisURI server) {
    for (String pair : System.getProperty("side.proxies", "").split(",")) {
      String[] ports = pair.split("=");
      if (ports[0].equals(String.valueOf(server.getPort()))) {
        return new RedisURI(server.getScheme(), server.getHost(), Integer.parseInt(ports[1]));
      }
    }
    return server;
  }

  private static void answer(String[] words) {
    try {
      print(words[0] + " ok " + run(words[2], words[3], words));
    } catch (Throwable error) {
      print(words[0] + " error " + error.toString().replace('\n', ' '));
    }
  }

  private static Object run(String command, String name, String[] words) throws Exception {
    int dot = command.indexOf('.');
    if (command.startsWith("semaphore.")) return permits(redisson.getSemaphore(name), command.substring(10), words);
    if (command.startsWith("expirable.")) {
      return permits(redisson.getPermitExpirableSemaphore(name), command.substring(10), words);
    }
    if (command.startsWith("chaos.")) return chaos(command.substring(6), name, words);
    if (command.startsWith("latch.")) return latch(redisson.getCountDownLatch(name), command.substring(6), words);
    RLock lock = lock(dot < 0 ? "" : command.substring(0, dot), name);
    switch (command.substring(dot + 1)) {
      case "lock":
        if (number(words, 4) < 0) lock.lock();
        else lock.lock(number(words, 4), TimeUnit.MILLISECONDS);
        return "";
      case "tryLock":
        return lock.tryLock(number(words, 4), number(words, 5), TimeUnit.MILLISECONDS);
      case "unlock":
        lock.unlock();
        return "";
      case "forceUnlock":
        return lock.forceUnlock();
      case "isLocked":
        return lock.isLocked();
      case "isHeld":
        return lock.isHeldByCurrentThread();
      case "holdCount":
        return lock.getHoldCount();
      case "sections":
        return sections(lock, words[4], number(words, 5));
      case "readWriteSections":
        return readWriteSections(redisson.getReadWriteLock(name), words[4], number(words, 5));
      case "fencedLock":
        return redisson.getFencedLock(name).lockAndGetToken();
      case "fencedUnlock":
        redisson.getFencedLock(name).unlock();
        return "";
      case "fencedSections":
        return tokens(redisson.getFencedLock(name), number(words, 4));
      default:
        throw new IllegalArgumentException(command);
    }
  }

  /** Sections of a run of `npm run chaos`; `begin` comes first, with the client's name in place of a lock's. */
  private static Object chaos(String command, String name, String[] words) throws Exception {
    switch (command) {
      case "begin":
        chaos = new ChaosSections(redisson, name, number(words, 4), words[5], words[6]);
        return "";
      case "section":
        return chaos.perform(lock(words[5], name), words[4], words[5], words[6], Arrays.copyOfRange(words, 7, words.length));
      case "pulse":
        return chaos.pulse(redisson.getLock(name), number(words, 4));
      default:
        throw new IllegalArgumentException(command);
    }
  }

  private static RLock lock(String kind, String name) {
    switch (kind) {
      case "":
      case "exclusive":
        return redisson.getLock(name);
      case "fair":
        return redisson.getFairLock(name);
      case "spin":
        return redisson.getSpinLock(name);
      case "read":
        return redisson.getReadWriteLock(name).readLock();
      case "write":
        return redisson.getReadWriteLock(name).writeLock();
      default:
        throw new IllegalArgumentException(kind);
    }
  }

  private static Object permits(RSemaphore semaphore, String command, String[] words) throws Exception {
    switch (command) {
      case "trySetPermits":
        return semaphore.trySetPermits((int) number(words, 4));
      case "available":
        return semaphore.availablePermits();
      case "acquire":
        semaphore.acquire();
        return "";
      case "release":
        semaphore.release();
        return "";
      case "sections":
        for (long i = 0; i < number(words, 5); i++) {
          semaphore.acquire();
          count(words[4]);
          semaphore.release();
        }
        return "";
      default:
        throw new IllegalArgumentException(command);
    }
  }

  private static Object permits(RPermitExpirableSemaphore semaphore, String command, String[] words) throws Exception {
    switch (command) {
      case "trySetPermits":
        return semaphore.trySetPermits((int) number(words, 4));
      case "acquire":
        return semaphore.acquire();
      case "tryAcquire":
        return semaphore.tryAcquire(number(words, 4), number(words, 5), TimeUnit.MILLISECONDS);
      case "release":
        return semaphore.tryRelease(words[4]);
      case "sections":
        for (long i = 0; i < number(words, 5); i++) {
          String permit = semaphore.acquire();
          count(words[4]);
          semaphore.release(permit);
        }
        return "";
      default:
        throw new IllegalArgumentException(command);
    }
  }

  private static Object latch(RCountDownLatch latch, String command, String[] words) throws Exception {
    switch (command) {
      case "trySetCount":
        return latch.trySetCount(number(words, 4));
      case "countDown":
        for (long i = 0; i < number(words, 4); i++) latch.countDown();
        return "";
      case "count":
        return latch.getCount();
      case "await":
        return latch.await(number(words, 4), TimeUnit.MILLISECONDS);
      default:
        throw new IllegalArgumentException(command);
    }
  }

  /** At most two may be inside at once. */
  private static void count(String counter) {
    RAtomicLong inside = redisson.getAtomicLong(counter);
    if (inside.incrementAndGet() > 2) throw new IllegalStateException("more than two are inside");
    inside.decrementAndGet();
  }

  /** Adds 1 to a counter in every second section; in the others, it reads the counter twice. */
  private static long readWriteSections(RReadWriteLock lock, String counter, long times) {
    RBucket<String> bucket = redisson.getBucket(counter, StringCodec.INSTANCE);
    for (long i = 0; i < times; i++) {
      if (i % 2 == 0) {
        lock.readLock().lock();
        try {
          if (!Objects.equals(bucket.get(), bucket.get())) throw new IllegalStateException("a writer came between");
        } finally {
          lock.readLock().unlock();
        }
      } else {
        sections(lock.writeLock(), counter, 1);
      }
    }
    return times;
  }

  /** Adds 1 to a counter so often: it reads, then writes. Without exclusion, updates get lost. */
  private static long sections(RLock lock, String counter, long times) {
    RBucket<String> bucket = redisson.getBucket(counter, StringCodec.INSTANCE);
    for (long i = 0; i < times; i++) {
      lock.lock();
      try {
        String before = bucket.get();
        bucket.set(Long.toString(1 + (before == null ? 0 : Long.parseLong(before))));
      } finally {
        lock.unlock();
      }
    }
    return times;
  }

  private static String tokens(RFencedLock lock, long times) {
    StringBuilder tokens = new StringBuilder();
    for (long i = 0; i < times; i++) {
      tokens.append(tokens.length() == 0 ? "" : ",").append(lock.lockAndGetToken());
      lock.unlock();
    }
    return tokens.toString();
  }

  private static long number(String[] words, int i) {
    return Long.parseLong(words[i]);
  }

  private static synchronized void print(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
