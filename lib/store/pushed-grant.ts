/** A grant that the store reports in a message to its waiter. */
export interface PushedGrant {
  readonly key: string;
  readonly id: string;
  readonly token: number;
  /** The first lease in ms, from `time` on. */
  readonly lease: number;
  /** The store's clock at the grant, in ms. */
  readonly time: number;
  /** As in `HeldReply`. */
  readonly batchSize: number;
  /** As in `HeldReply`. */
  readonly units?: number | undefined;
}
