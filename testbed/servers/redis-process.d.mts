/** A Redis that can be started: a program on this machine, or an image run by Docker. */
export interface RedisInstallation {
  kind: 'binary' | 'docker';
  /** The program to start: the server itself, or `docker`. */
  command: string;
  version: string;
  /** Docker only. */
  image?: string;
}

export interface RedisProcessOptions {
  /** Further arguments of `redis-server`. */
  args?: readonly string[];
  /** The text of a configuration file, for what cannot be said in arguments (Sentinel wants one that it can write). */
  config?: string;
  /** Default: a free one. */
  port?: number;
}

export declare class RedisProcess {
  constructor(installation: RedisInstallation, options?: RedisProcessOptions);
  readonly host: string;
  /** Known once started; the same after every restart. */
  readonly port: number;
  readonly url: string;
  readonly directory: string;
  readonly isRunning: boolean;
  readonly exited: Promise<void>;
  readonly log: string;
  start(): Promise<void>;
  signal(signal: NodeJS.Signals): Promise<void>;
  kill(signal?: NodeJS.Signals): Promise<void>;
  stop(): Promise<void>;
}
