/** The line between the embedded node's two halves: the application (the market's rules) and the node (blocks and wire). */
export interface AbciEvent {
  readonly type: string;
  readonly attributes: readonly { readonly key: string; readonly value: string; readonly index: boolean }[];
}

export interface TxResult {
  readonly code: number;
  readonly codespace: string;
  readonly data: Uint8Array;
  readonly log: string;
  readonly gasWanted: bigint;
  readonly gasUsed: bigint;
  readonly events: readonly AbciEvent[];
}

/** What stands where a transaction has no result yet. The order of its fields is that of all results, and in the app's hash. */
export const noTxResult: TxResult = {
  code: 0,
  codespace: "",
  log: "",
  data: new Uint8Array(),
  events: [],
  gasWanted: 0n,
  gasUsed: 0n,
};

export interface BlockInput {
  readonly height: bigint;
  readonly timeNs: bigint;
  readonly txs: readonly Uint8Array[];
}

export interface BlockOutput {
  readonly txResults: readonly TxResult[];
  /** What happened outside any transaction (FinalizeBlock events). */
  readonly events: readonly AbciEvent[];
  readonly appHash: Uint8Array;
}

export interface QueryResult {
  readonly code: number;
  readonly codespace: string;
  readonly log: string;
  readonly value: Uint8Array;
  readonly height: bigint;
}

/** Deterministic: the same genesis and the same blocks give the same results and hashes, on every machine. */
export interface App {
  readonly chainId: string;
  /** Height of the last block; 0 before the first. */
  readonly height: bigint;
  /** The oldest height that queries can still name. */
  readonly lowestHeight: bigint;
  readonly appHash: Uint8Array;
  /** Validates a transaction for the mempool. Changes only the mempool's view of the state. */
  checkTx(tx: Uint8Array): TxResult;
  finalizeBlock(block: BlockInput): BlockOutput;
  /**
   * A gRPC query by its path, for instance "/akash.market.v1beta5.Query/Orders", on the state after the block of that
   * height, which is between the lowest and the latest; the latest when none is named.
   */
  query(path: string, request: Uint8Array, height?: bigint): QueryResult;
  /** Every path that `query` answers, so that the gRPC server can offer them. */
  readonly queryPaths: readonly string[];
}
