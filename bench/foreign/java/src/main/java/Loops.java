import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/** The work of a process until the measurement ends, as in harness/loops.mjs. Each caller has a thread. */
final class Loops {
  /** One section in this many lasts a little longer, so that other callers could overlap if the lock were broken. */
  private static final int LONGER = 8;

  private static final int CALLERS_OF_WARM_UP = 4;

  private final LockClient client;
  private final SharedState state;
  private final Runner.Terms terms;
  private final AtomicLong count = new AtomicLong();

  Loops(LockClient client, SharedState state, Runner.Terms terms) {
    this.client = client;
    this.state = state;
    this.terms = terms;
  }

  /** The callers of this process compete with all others for one key, or each time for one of many. */
  String contend() throws Exception {
    List<Caller> callers = new ArrayList<>();
    for (int i = 0; i < terms.number("waiters"); i++) callers.add(new Caller(Request.of(i, terms)));
    inParallel(callers.size(), i -> callers.get(i).run());
    Histogram waits = new Histogram();
    Histogram gaps = new Histogram();
    for (Caller caller : callers) {
      waits.merge(caller.waits);
      gaps.merge(caller.gaps);
    }
    String sections = callers.stream().map(each -> Long.toString(each.sections)).collect(Collectors.joining(","));
    long gaveUp = callers.stream().mapToLong(each -> each.gaveUp).sum();
    long unserved = callers.stream().mapToLong(each -> each.unserved).sum();
    return "{\"sections\":[" + sections + "],\"waits\":" + waits.json() + ",\"gaps\":" + gaps.json()
        + ",\"gaveUp\":" + gaveUp + ",\"unserved\":" + unserved + "}";
  }

  private final class Caller {
    private final Histogram waits = new Histogram();
    private final Histogram gaps = new Histogram();
    private final int sectionMs = terms.number("sectionMs");
    private final int pauseMs = terms.number("pauseMs");
    private final int keys = terms.number("keys");
    private long sections;
    private long gaveUp;
    private long unserved;
    private final Request request;

    Caller(Request request) {
      this.request = request;
    }

    void run() throws Exception {
      while (!state.isOver()) {
        int index = keys > 0 ? ThreadLocalRandom.current().nextInt(keys) : SharedState.SINGLE;
        String key = keys > 0 ? terms.text("key") + ":" + index : terms.text("key");
        double asked = SharedState.now();
        state.beginWaiting();
        Object handle = client.acquire(key, request);
        // A caller that timed out requests the lock again. Its wait counts from the first request.
        while (handle == null && !state.isOver()) {
          if (state.isMeasuring()) gaveUp++;
          handle = client.acquire(key, request);
        }
        double gap = keys > 0 ? Double.NaN : state.sinceRelease();
        state.endWaiting();
        if (handle == null) {
          record(asked, gap);
          return;
        }
        int counter = state.enter(request, index);
        record(asked, gap);
        if (sectionMs > 0) Thread.sleep(sectionMs);
        else if (count.incrementAndGet() % LONGER == 0) Thread.yield();
        state.leave(counter, request, index);
        state.noteRelease();
        client.release(handle);
        if (pauseMs > 0 && !state.isOver()) Thread.sleep(pauseMs);
      }
    }

    private void record(double asked, double gap) {
      if (state.isMeasuring()) {
        waits.add(SharedState.now() - asked);
        sections++;
        if (gap >= 0) gaps.add(gap);
      } else if (state.isOver() && asked < state.stopTime()) {
        // The caller was served only because the others have stopped.
        waits.add(state.stopTime() - asked);
        unserved++;
      }
    }
  }

  /** Callers acquire and release uncontended keys. */
  String cycle() throws Exception {
    List<Histogram> parts = new ArrayList<>();
    for (int i = 0; i < terms.number("callers"); i++) parts.add(new Histogram());
    inParallel(parts.size(), i -> {
      while (!state.isOver()) {
        double began = SharedState.now();
        once("fresh:" + state.slot() + ":" + count.incrementAndGet(), Request.EXCLUSIVE);
        if (state.isMeasuring()) parts.get(i).add(SharedState.now() - began);
      }
    });
    return "{\"cycles\":" + parts.stream().reduce(new Histogram(), Histogram::merge).json() + "}";
  }

  /** Each caller acquires and releases a key of its own for a time, so that the JVM compiles what is measured later. */
  void warm() throws Exception {
    double end = SharedState.now() + terms.number("ms");
    inParallel(CALLERS_OF_WARM_UP, i -> {
      Request request = Request.of(i, terms);
      while (SharedState.now() < end) once("warm:" + state.slot() + ":" + i, request);
    });
  }

  private void once(String key, Request request) throws InterruptedException {
    Object handle = client.acquire(key, request);
    if (handle == null) throw new IllegalStateException("a fresh key was held");
    client.release(handle);
  }

  private interface Call {
    void run(int i) throws Exception;
  }

  /** Returns when all calls have returned, or with the first error. */
  private static void inParallel(int calls, Call call) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(calls);
    try {
      ExecutorCompletionService<Void> done = new ExecutorCompletionService<>(threads);
      for (int i = 0; i < calls; i++) {
        int index = i;
        done.submit(() -> {
          call.run(index);
          return null;
        });
      }
      for (int i = 0; i < calls; i++) done.take().get();
    } catch (ExecutionException error) {
      throw error.getCause() instanceof Exception cause ? cause : error;
    } finally {
      threads.shutdown();
    }
  }
}
