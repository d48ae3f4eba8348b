/** Runs SQL: a client of `pg`, a transaction, PGlite. */
export interface Queries {
  query<Row>(sql: string, params?: unknown[]): Promise<{ rows: Row[] }>;
}

/** The database as the example needs it, and Nest's token for it. PGlite is one; a pool of `pg` takes a few lines. */
export abstract class Database implements Queries {
  abstract query<Row>(sql: string, params?: unknown[]): Promise<{ rows: Row[] }>;
  /** Begins, and commits the work of `work`, unless it throws. */
  abstract transaction<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>;
}
