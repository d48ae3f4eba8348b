import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect;

/** The bytes in use on the heap of this thread, after garbage collection. */
export function usedHeap() {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc');
  }
  for (let i = 0; i < 3; i++) collect();
  return process.memoryUsage().heapUsed;
}
