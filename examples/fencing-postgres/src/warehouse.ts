/** Counts the arrived articles; that takes its time, and it may not look at `signal`. Nest's token, too. */
export abstract class Warehouse {
  abstract countArrivals(sku: string, signal: AbortSignal): Promise<number>;
}
