import { hostname } from 'node:os';
import { read } from '../options/option-readers.js';

const LONGEST = 64;

/** Reads the label of a client, by which people find its process. `CLIENT SETNAME` takes no spaces and no control characters. */
export const readLabel = read.name(
  new RegExp(`^[!-~]{1,${LONGEST}}$`),
  `1 to ${LONGEST} printable ASCII characters without spaces, such as 'orders:7f9c'`,
);

/**
 * The host and the process id. In Kubernetes the host name is that of the pod. A pod in the network of its host can say its
 * name in `POD_NAME`.
 */
export function defaultLabel(): string {
  const { pid, env } = process;
  const end = `:${pid}`;
  const host = (env['POD_NAME'] || hostname()).replace(/[^\w.-]/g, '-');
  // The end of a pod's name tells it from its siblings.
  return (host || 'host').slice(-(LONGEST - end.length)) + end;
}
