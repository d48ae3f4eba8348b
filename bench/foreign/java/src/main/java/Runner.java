import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A process of the benchmark with Redisson, driven over stdin. Each line is {@code id method words…}, with settings as
 * {@code name=value}; the reply is {@code id ok value} or {@code id error text}.
 */
public final class Runner {
  private static final ExecutorService THREADS = Executors.newCachedThreadPool();
  private static final Map<String, Held> HELD = new ConcurrentHashMap<>();
  private static final OperatingSystemMXBean SYSTEM =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private static volatile SharedState state;
  private static volatile LockClient client;
  private static volatile Future<String> loop;

  /** A lock belongs to a thread, so each lock that is acquired over stdin has a thread of its own. */
  private record Held(Object handle, ExecutorService thread) {}

  public static void main(String[] args) throws Exception {
    print("0 ok \"" + Runtime.version() + "\"");
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      THREADS.execute(() -> answer(words));
    }
    // The benchmark has ended, or crashed.
    Runtime.getRuntime().halt(0);
  }

  private static void answer(String[] words) {
    try {
      print(words[0] + " ok " + run(words[1], words));
    } catch (Throwable error) {
      Throwable cause = error.getCause() == null ? error : error.getCause();
      print(words[0] + " error " + cause.toString().replace('\n', ' '));
    }
  }

  private static String run(String method, String[] words) throws Exception {
    Terms terms = new Terms(words);
    switch (method) {
      case "open":
        state = SharedState.open(terms.text("state"), terms.number("slot"));
        client = LockClient.open(terms, state);
        return Double.toString(SharedState.now());
      case "warm":
        new Loops(client, state, terms).warm();
        return "";
      case "begin":
        Loops loops = new Loops(client, state, terms);
        loop = THREADS.submit(() -> words[2].equals("contend") ? loops.contend() : loops.cycle());
        return "";
      case "finish":
        return loop.get();
      case "cpu":
        return Double.toString(SYSTEM.getProcessCpuTime() / 1e9);
      case "acquire":
        return acquire(terms.text("key"));
      case "release":
        Held held = HELD.remove(terms.text("handle"));
        try {
          held.thread().submit(() -> client.release(held.handle())).get();
        } finally {
          held.thread().shutdown();
        }
        return "";
      case "close":
        client.close();
        return "";
      default:
        throw new IllegalArgumentException("the runner has no method " + method);
    }
  }

  /** The name of a handle, or nothing if the library gave up. */
  private static String acquire(String key) throws Exception {
    ExecutorService thread = Executors.newSingleThreadExecutor();
    Object handle = thread.submit(() -> client.acquire(key, Request.EXCLUSIVE)).get();
    if (handle == null) {
      thread.shutdown();
      return "";
    }
    String name = Long.toString(System.nanoTime());
    HELD.put(name, new Held(handle, thread));
    return '"' + name + '"';
  }

  private static synchronized void print(String line) {
    System.out.println(line);
    System.out.flush();
  }

  /** The named settings of a request. */
  record Terms(Map<String, String> named) {
    Terms(String[] words) {
      this(new HashMap<>());
      for (String word : words) {
        int equals = word.indexOf('=');
        if (equals > 0) named.put(word.substring(0, equals), word.substring(equals + 1));
      }
    }

    String text(String name) {
      return named.getOrDefault(name, "");
    }

    int number(String name) {
      return Integer.parseInt(named.getOrDefault(name, "0"));
    }
  }
}
