export declare class Guard {
  constructor(directory?: string);
  watch(command: string): void;
  release(): void;
  dispose(): Promise<void>;
}
