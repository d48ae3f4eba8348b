/** Asks how many replicas have what was written under an id: of a hold, or by a call that changed a latch. */
export interface ReplicateRequest {
  readonly key: string;
  readonly id: string;
  readonly min: number;
  /** ms */
  readonly timeout: number;
}
