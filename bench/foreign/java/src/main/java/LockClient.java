import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.NettyHook;
import org.redisson.client.protocol.CommandsData;
import org.redisson.config.Config;

/** One client of Redisson, for one kind of lock. */
final class LockClient {
  private final RedissonClient redisson;
  private final Function<String, RLock> locks;
  private final boolean isForOneTry;
  private final int lease;
  private final Map<String, RSemaphore> semaphores = new ConcurrentHashMap<>();

  private LockClient(
      RedissonClient redisson, Function<String, RLock> locks, boolean isForOneTry, int lease) {
    this.redisson = redisson;
    this.locks = locks;
    this.isForOneTry = isForOneTry;
    this.lease = lease;
  }

  static LockClient open(Runner.Terms terms, SharedState state) {
    Config config = new Config();
    config.setNettyHook(new Counter(state));
    config.useSingleServer().setAddress("redis://" + terms.text("host") + ":" + terms.text("port"));
    RedissonClient redisson = Redisson.create(config);
    return new LockClient(
        redisson, locks(redisson, terms.text("kind")), terms.number("tries") == 1, terms.number("lease"));
  }

  private static Function<String, RLock> locks(RedissonClient redisson, String kind) {
    switch (kind) {
      case "lock":
        return redisson::getLock;
      case "spin-lock":
        return redisson::getSpinLock;
      case "fair-lock":
        return redisson::getFairLock;
      default:
        throw new IllegalArgumentException("Redisson has no " + kind);
    }
  }

  /** Returns a handle that this thread has to release, or null if the library gave up. */
  Object acquire(String key, Request request) throws InterruptedException {
    switch (request.type()) {
      case "permit":
        RSemaphore semaphore = semaphores.computeIfAbsent(key, name -> semaphore(name, request.limit()));
        semaphore.acquire();
        return semaphore;
      case "read":
        return locked(redisson.getReadWriteLock(key).readLock());
      case "write":
        return locked(redisson.getReadWriteLock(key).writeLock());
      default:
        return exclusive(key);
    }
  }

  private RSemaphore semaphore(String name, int permits) {
    RSemaphore semaphore = redisson.getSemaphore(name);
    semaphore.trySetPermits(permits);
    return semaphore;
  }

  private RLock locked(RLock lock) {
    if (lease > 0) lock.lock(lease, TimeUnit.MILLISECONDS);
    else lock.lock();
    return lock;
  }

  private Object exclusive(String key) {
    RLock lock = locks.apply(key);
    if (isForOneTry) return lock.tryLock() ? lock : null;
    return locked(lock);
  }

  void release(Object handle) {
    if (handle instanceof RSemaphore semaphore) semaphore.release();
    else ((RLock) handle).unlock();
  }

  void close() {
    redisson.shutdown(0, 2, TimeUnit.SECONDS);
  }

  /** Counts the commands of all connections. */
  private record Counter(SharedState state) implements NettyHook {
    @Override
    public void afterBoostrapInitialization(Bootstrap bootstrap) {}

    @Override
    public void afterChannelInitialization(Channel channel) {
      channel.pipeline().addLast(new ChannelOutboundHandlerAdapter() {
        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) throws Exception {
          state.countCommands(message instanceof CommandsData batch ? batch.getCommands().size() : 1);
          super.write(context, message, promise);
        }
      });
    }
  }
}
