import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Measures by how many ms the timers of this thread are late, until `stop()`. `resolution`: ms. */
export function watchDelay(resolution) {
  const histogram = monitorEventLoopDelay({ resolution });
  histogram.enable();
  const late = (ns) => Math.max(0, ns / 1e6 - resolution);
  return {
    stop() {
      histogram.disable();
      return { delay: late(histogram.percentile(99)), longestDelay: late(histogram.max) };
    },
  };
}
