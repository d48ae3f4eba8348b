/** Asks how many replicas have the write of an id: of a hold, or of a call that changed a latch. */
export interface ReplicateRequest {
  readonly key: string;
  readonly id: string;
  readonly min: number;
  /** ms */
  readonly timeout: number;
}
