/** Stands between one client and one server and makes the network misbehave. */
export declare class Proxy {
  static start(target: { readonly host: string; readonly port: number }): Promise<Proxy>;
  readonly port: number;
  /** Everything takes `ms` longer, each way. */
  delay(ms: number): void;
  /** What servers answer waits here, and comes late and in order. */
  holdReplies(): void;
  /** Both ends of all connections see them end. */
  cut(): void;
  /** No new connections, and none of those that are. */
  refuse(): void;
  heal(): Promise<void>;
  close(): Promise<void>;
}
