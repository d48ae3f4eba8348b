/** What is asked about the holds of a key: those of one kind, and whether an owner has one of them. */
export interface SurveyRequest {
  readonly key: string;
  readonly kind: 'exclusive' | 'read' | 'permits';
  readonly owner?: string | undefined;
}

/** The answers about the holds of a key. */
export interface HoldSurvey {
  /** The ms that are left of the longest lease of this kind; -2: there is no such hold. */
  readonly ttl: number;
  /** Whether the owner has a hold of this kind that is not released. */
  readonly isOwned: boolean;
  /** The permits in use. */
  readonly units: number;
  /** Whether there is a hold of another kind. */
  readonly hasOthers: boolean;
  /** The number of permits, if it was set at run time. */
  readonly limit: number | undefined;
}
