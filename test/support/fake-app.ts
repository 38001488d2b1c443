/**
 * An application for tests of the embedded node, whose transactions are words: "bad …" is rejected before it gets into
 * the pool, "fail …" fails in its block, "until 5 …" is good up to block 5, anything else succeeds.
 */
import { hash } from "node:crypto";
import type { AbciEvent, App, TxResult } from "../../src/box/chain/abci.ts";
import { invalidArgument, notFound } from "../../src/box/chain/errors.ts";
import { ChainError } from "../../src/box/chain/module.ts";

export interface FakeApp extends App {
  /** Every transaction that the pool asked about, also again. */
  readonly checked: string[];
}

export function createFakeApp(chainId = "test-1", seed = ""): FakeApp {
  let height = 0n;
  let appHash = sha256(chainId + seed);
  const checked: string[] = [];

  function verdict(words: string, at: bigint): TxResult {
    const [verb, number] = words.split(" ");
    if (verb === "bad") return { ...good(words), code: 5, codespace: "sdk", log: "insufficient funds" };
    if (verb === "until" && at > BigInt(number ?? 0)) {
      return { ...good(words), code: 42, codespace: "sdk", log: "tx timeout" };
    }
    return good(words);
  }

  return {
    chainId,
    checked,
    get height() {
      return height;
    },
    get lowestHeight() {
      return height;
    },
    get appHash() {
      return appHash;
    },
    checkTx(tx) {
      const words = Buffer.from(tx).toString();
      checked.push(words);
      return { ...verdict(words, height + 1n), data: new Uint8Array(), events: [] };
    },
    finalizeBlock(block) {
      height = block.height;
      const txResults = block.txs.map((tx) => {
        const words = Buffer.from(tx).toString();
        if (words.startsWith("panic")) throw new Error("the application lost its footing");
        if (!words.startsWith("fail")) return verdict(words, height);
        const log = "failed to execute message; message index: 0: bid not open";
        return { ...good(words), code: 12, codespace: "market", data: new Uint8Array(), log };
      });
      appHash = sha256(Buffer.concat([appHash, Buffer.from(`${block.height} ${block.timeNs}`), ...block.txs]));
      return { txResults, events: [event("tick", { height: `${height}`, mode: "EndBlock" })], appHash };
    },
    query(path, request) {
      try {
        return { code: 0, codespace: "", log: "", value: answer(path, request), height };
      } catch (thrown) {
        if (!(thrown instanceof ChainError)) throw thrown;
        const { code, codespace, message: log } = thrown;
        return { code, codespace, log, value: new Uint8Array(), height };
      }
    },
    queryPaths: ["Echo", "Missing", "Wrong", "Broken"].map((name) => `/test.Query/${name}`),
  };
}

function answer(path: string, request: Uint8Array): Uint8Array {
  if (path === "/test.Query/Echo") return request;
  if (path === "/test.Query/Missing") throw notFound("order not found: ü 100%");
  if (path === "/test.Query/Wrong") throw invalidArgument("empty request");
  if (path === "/test.Query/Broken") throw new Error("a query lost its footing");
  throw new ChainError("sdk", 6, "unknown query path: unknown request");
}

function good(words: string): TxResult {
  const [sender = ""] = words.split(" ").slice(-1);
  return {
    code: 0,
    codespace: "",
    data: Buffer.from(`did ${words}`),
    log: "",
    gasWanted: 200_000n,
    gasUsed: 100_000n,
    events: [event("message", { action: "/test.MsgDo", sender }), event("tx", { fee: "500uakt" })],
  };
}

function event(type: string, texts: Record<string, string>): AbciEvent {
  return { type, attributes: Object.entries(texts).map(([key, value]) => ({ key, value, index: true })) };
}

function sha256(data: string | Uint8Array): Buffer {
  return hash("sha256", data, "buffer");
}
