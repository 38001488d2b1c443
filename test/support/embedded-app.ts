/** The application of the embedded node without the node around it: a test makes its blocks itself. */
import {
  BaseAccount,
  MsgSend,
  QueryAccountRequest,
  QueryAccountResponse,
  QueryBalanceRequest,
  QueryBalanceResponse,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import type { App, BlockOutput, TxResult } from "../../src/box/chain/abci.ts";
import { createApp } from "../../src/box/chain/app.ts";
import type { Genesis } from "../../src/box/chain/genesis.ts";
import type { Module } from "../../src/box/chain/module.ts";
import { signTransaction, type TestKey, testKey, type Unsigned } from "./chain-signing.ts";

export interface TestApp {
  readonly app: App;
  /** Time of the last block. */
  readonly nowNs: bigint;
  /** The next block, a second later unless told otherwise. */
  block(txs?: readonly Uint8Array[], afterNs?: bigint): BlockOutput;
  /** One transaction in a block of its own. */
  deliver(tx: Uint8Array): TxResult;
  /** Signed by `key` with the account's number and sequence as they are now. */
  sign(key: TestKey, messages: Unsigned["messages"], options?: Partial<Unsigned>): Uint8Array;
  account(address: string): { number: bigint; sequence: bigint };
  balance(address: string, denom?: string): bigint;
  query(path: string, request?: Uint8Array): Uint8Array;
}

export const second = 1_000_000_000n;
export const chainId = "lab-1";
/** 2026-01-01T00:00:00Z. */
const startNs = 1_767_225_600n * second;

export function createTestApp(
  keys: readonly TestKey[],
  genesis: Partial<Genesis> = {},
  modules: readonly Module[] = [],
): TestApp {
  const coins = ["uact", "uakt"].map((denom) => ({ denom, amount: 10_000_000_000_000n }));
  const accounts = keys.map(({ address }) => ({ address, coins }));
  const app = createApp({ chainId, timeNs: startNs, accounts, ...genesis }, modules);
  let nowNs = genesis.timeNs ?? startNs;

  function query(path: string, request: Uint8Array = new Uint8Array()): Uint8Array {
    const { code, codespace, log, value } = app.query(path, request);
    if (code !== 0) throw new Error(`${codespace} ${code}: ${log}`);
    return value;
  }

  function block(txs: readonly Uint8Array[] = [], afterNs = second): BlockOutput {
    nowNs += afterNs;
    return app.finalizeBlock({ height: app.height + 1n, timeNs: nowNs, txs });
  }

  function account(address: string): { number: bigint; sequence: bigint } {
    const answer = query("/cosmos.auth.v1beta1.Query/Account", QueryAccountRequest.encode({ address }).finish());
    const packed = QueryAccountResponse.decode(answer).account?.value ?? new Uint8Array();
    const { accountNumber, sequence } = BaseAccount.decode(packed);
    return { number: accountNumber.toBigInt(), sequence: sequence.toBigInt() };
  }

  return {
    app,
    get nowNs() {
      return nowNs;
    },
    block,
    deliver(tx) {
      const [result] = block([tx]).txResults;
      if (!result) throw new Error("the block has no result");
      return result;
    },
    sign(key, messages, options = {}) {
      const { number, sequence } = account(key.address);
      const unordered = options.unorderedNs !== undefined;
      const signers = [{ key, accountNumber: number, sequence: unordered ? 0n : sequence }];
      return signTransaction({ messages, signers, chainId, ...options });
    },
    account,
    balance(address, denom = "uakt") {
      const request = QueryBalanceRequest.encode({ address, denom }).finish();
      const answer = query("/cosmos.bank.v1beta1.Query/Balance", request);
      return BigInt(QueryBalanceResponse.decode(answer).balance?.amount ?? 0);
    },
    query,
  };
}

export function sendMessage(from: string, to: string, amount: bigint | number, denom = "uakt") {
  const value = MsgSend.encode({ fromAddress: from, toAddress: to, amount: [{ denom, amount: `${amount}` }] }).finish();
  return { typeUrl: "/cosmos.bank.v1beta1.MsgSend", value };
}

export const [alice, bob, carol] = ["alice", "bob", "carol"].map(testKey) as [TestKey, TestKey, TestKey];
