import { parseDuration } from 'nestjs-redis-locks';

/** What the environment decides. */
export class AppConfig {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly redisUrl: string;
  /** Stands before all keys of the shop and of its locks. */
  readonly keyPrefix: string;
  /** For how long Redis keeps a lock without hearing of its holder, in ms; `LOCK_LEASE=30s`. */
  readonly lockLease: number;

  constructor(env: NodeJS.ProcessEnv) {
    this.host = env['HOST'] ?? '127.0.0.1';
    this.port = Number(env['PORT'] ?? 3000);
    this.redisUrl = env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
    this.keyPrefix = env['KEY_PREFIX'] ?? 'shop';
    this.lockLease = parseDuration(env['LOCK_LEASE'] ?? '30s');
  }
}
