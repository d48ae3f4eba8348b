/** Numbers from 0 to 1. */
export type Random = () => number;

/**
 * The numbers of one stream. Each depends only on the seed, the stream and its place, so a process that does less does
 * not change the events of the others: a reduced schedule still behaves like the original.
 */
export function noise(seed: number, stream: number): Random {
  const start = mix(seed ^ Math.imul(stream + 1, 0x9e3779b1));
  let place = 0;
  return () => {
    place = (place + 0x6d2b79f5) | 0;
    return mix(start ^ place) / 4_294_967_296;
  };
}

/** Every bit of the input affects every bit of the output (splitmix32). */
function mix(value: number): number {
  let t = value | 0;
  t = Math.imul(t ^ (t >>> 16), 0x21f0aaad);
  t = Math.imul(t ^ (t >>> 15), 0x735a2d97);
  return (t ^ (t >>> 15)) >>> 0;
}
