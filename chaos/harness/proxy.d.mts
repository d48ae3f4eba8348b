/** Stands between one client and one server and makes the network misbehave. */
export declare class Proxy {
  static start(target: { readonly host: string; readonly port: number }): Promise<Proxy>;
  readonly port: number;
  /** Everything takes `ms` longer, each way. */
  delay(ms: number): void;
  heal(): Promise<void>;
  close(): Promise<void>;
}
