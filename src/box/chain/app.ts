/** The application of the embedded node: modules on one state, run by transactions, blocks and queries. */
import { createHash } from "node:crypto";
import { invariant } from "../../runtime/invariant.ts";
import type { AbciEvent, App, BlockOutput } from "./abci.ts";
import { createContext } from "./context.ts";
import { sdkError } from "./errors.ts";
import { withAttribute } from "./events.ts";
import { answerSimulation, type Rules, runTransaction } from "./execution.ts";
import { applyGenesis, type Genesis } from "./genesis.ts";
import { type BlockPoint, ChainError, type Module, memoized, type QueryHandler } from "./module.ts";
import { auditModule } from "./modules/audit/audit.ts";
import { authModule } from "./modules/auth/auth.ts";
import { authzModule } from "./modules/authz/authz.ts";
import { assertSupply } from "./modules/bank/balances.ts";
import { bankModule } from "./modules/bank/bank.ts";
import { certModule } from "./modules/cert/cert.ts";
import { feegrantModule } from "./modules/feegrant/feegrant.ts";
import { createMarketplace } from "./modules/marketplace.ts";
import { providerModule } from "./modules/provider/provider.ts";
import { createOverlay } from "./overlay.ts";
import { createPastStates } from "./past-states.ts";
import { createStore } from "./store.ts";
import { decodeTransaction, type MessageEntries } from "./transaction.ts";
import { forgetPassedStamps } from "./unordered.ts";
import { wireFields } from "./wire.ts";

/** Old states of the embedded chain that queries can name: enough to read a long list at one height. */
export const chainStatesKept = 300;
/** Some 20 MB of replaced records; a chain with thousands of bids per block is remembered for fewer heights. */
const chainStateKeysKept = 50_000;

const baseModules = [authModule, bankModule, feegrantModule, providerModule, certModule, auditModule];

/** `modules` come on top of those that every chain has: auth, authz, bank, feegrant, provider, cert, audit. */
export function createApp(genesis: Genesis, modules: readonly Module[] = createMarketplace()): App {
  const { chainId, initialHeight = 1n } = genesis;
  const all: readonly Module[] = [...baseModules, authzModule(() => entries), ...modules];
  const entries: MessageEntries = new Map(all.flatMap(({ messages }) => Object.entries(messages)));
  const rules: Rules = {
    // The mempool, its rechecks and the block decode the same bytes: decode them once.
    decode: memoized((bytes) => decodeTransaction(bytes, entries)),
    unorderedEnabled: genesis.unordered ?? true,
  };
  const store = createStore();
  const pastStates = createPastStates(store, { heights: chainStatesKept, keys: chainStateKeysKept });
  /** Check state: the state after the last block with the changes of pending transactions. */
  const pool = createOverlay(store);
  let point: BlockPoint = { chainId, height: 0n, timeNs: genesis.timeNs };
  let appHash: Uint8Array = hash();
  applyGenesis(createContext(point, store, []), genesis);

  const queries = new Map<string, QueryHandler>(all.flatMap((module) => Object.entries(module.queries)));
  queries.set("/cosmos.tx.v1beta1.Service/Simulate", (_, request) =>
    answerSimulation(request, (tx) => runTransaction(tx, "simulate", createOverlay(pool), point, rules)),
  );

  function runBlock(at: BlockPoint, txs: readonly Uint8Array[]): Omit<BlockOutput, "appHash"> {
    const events: AbciEvent[] = [];
    const context = createContext(at, store, events);
    forgetPassedStamps(context);
    const txResults = txs.map((tx) => runTransaction(tx, "finalize", store, at, rules));
    for (const module of all) module.endBlock?.(context);
    assertSupply(context);
    return { txResults, events: events.map((event) => withAttribute(event, "mode", "EndBlock")) };
  }

  return {
    chainId,
    get height() {
      return point.height;
    },
    get lowestHeight() {
      return pastStates.lowest ?? point.height;
    },
    get appHash() {
      return appHash;
    },
    checkTx: (tx) => runTransaction(tx, "check", pool, point, rules),
    finalizeBlock({ height, timeNs, txs }) {
      const expected = point.height === 0n ? initialHeight : point.height + 1n;
      invariant(height === expected, "blocks come one after the other", { height, expected });
      invariant(timeNs > point.timeNs, "time goes forward from block to block", { timeNs, before: point.timeNs });
      const at = { chainId, height, timeNs };
      const { result: output, replaced } = store.revise(() => runBlock(at, txs));
      // Queries cannot name the state before the first block: it has no height.
      if (point.height > 0n) pastStates.add(point, replaced);
      appHash = hash(appHash, describe(at, output));
      point = at;
      pool.reset();
      return { ...output, appHash };
    },
    query(path, request, height = point.height) {
      try {
        const handler = queries.get(path);
        if (!handler) throw sdkError("unknownRequest", "unknown query path");
        checkRequest(request);
        const state = height === point.height ? { point, store } : pastStates.at(height);
        invariant(state, "queried height is kept", { height });
        const value = handler(createContext(state.point, state.store, []), request);
        return { code: 0, codespace: "", log: "", value, height };
      } catch (error) {
        if (!(error instanceof ChainError)) throw error;
        const { code, codespace, message: log } = error;
        return { code, codespace, log, value: new Uint8Array(), height: 0n };
      }
    },
    queryPaths: [...queries.keys()],
  };
}

/** Bytes that are no protobuf are the client's fault; after this, what a handler throws is ours. */
function checkRequest(request: Uint8Array): void {
  try {
    for (const _ of wireFields(request));
  } catch (error) {
    throw sdkError("invalidRequest", error instanceof Error ? error.message : String(error));
  }
}

/** The block's output as text; a replay must produce the same bytes. */
function describe(at: BlockPoint, output: Omit<BlockOutput, "appHash">): string {
  return JSON.stringify([at, output], (_, value: unknown) => {
    if (typeof value === "bigint") return value.toString();
    return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
  });
}

function hash(...parts: (string | Uint8Array)[]): Uint8Array {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(part);
  return digest.digest();
}
