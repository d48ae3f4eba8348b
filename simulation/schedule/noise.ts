/** Numbers from 0 to 1. */
export type Random = () => number;

/**
 * The numbers of one stream. Each is made of the seed, the stream and its place alone, so what one process does less does
 * not change what happens to the others: a schedule that is made smaller stays like itself.
 */
export function noise(seed: number, stream: number): Random {
  const start = mix(seed ^ Math.imul(stream + 1, 0x9e3779b1));
  let place = 0;
  return () => {
    place = (place + 0x6d2b79f5) | 0;
    return mix(start ^ place) / 4_294_967_296;
  };
}

/** Every bit of what comes in decides over every bit of what goes out (splitmix32). */
function mix(value: number): number {
  let t = value | 0;
  t = Math.imul(t ^ (t >>> 16), 0x21f0aaad);
  t = Math.imul(t ^ (t >>> 15), 0x735a2d97);
  return (t ^ (t >>> 15)) >>> 0;
}
