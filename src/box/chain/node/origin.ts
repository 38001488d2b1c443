/** How a chain began: remembered by its file, told to whoever asks for its genesis. */
export interface Origin {
  readonly chainId: string;
  readonly timeNs: bigint;
  readonly initialHeight: bigint;
  /** The application's hash before the first block, in upper-case hex. */
  readonly appHash: string;
  /** Whatever the application was built from, as JSON. */
  readonly state: unknown;
}
