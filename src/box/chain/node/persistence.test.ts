import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import fc from "fast-check";
import { type Answer, startNode, wordsBase64 } from "../../../../test/support/embedded-node.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { createFakeApp } from "../../../../test/support/fake-app.ts";
import { temporaryFolder } from "../../../../test/support/folder.ts";
import { createOwner, type Owner } from "../../../../test/support/owner.ts";
import { runs } from "../../../../test/support/runs.ts";
import type { ErrorCode } from "../../../runtime/catalogue.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { type Origin, openChainFile, type RecordedBlock, recordedOrigin } from "./persistence.ts";

const origin: Origin = { chainId: "test-1", timeNs: 5n, initialHeight: 1n, appHash: "AB", state: { accounts: ["x"] } };

const block = (height: bigint, ...txs: string[]): RecordedBlock => ({
  height,
  timeNs: 1_794_730_923_148_000_000n + height,
  appHash: Buffer.from([Number(height % 256n)]),
  txs: txs.map((words) => Buffer.from(words)),
});

function plain({ height, timeNs, appHash, txs }: RecordedBlock): unknown {
  return { height, timeNs, appHash: [...appHash], txs: txs.map((tx) => Buffer.from(tx).toString()) };
}

test("what is written is read back: how the chain began, and its blocks", (t) => {
  const path = join(temporaryFolder(t), "chain");
  assert.equal(recordedOrigin(path), undefined);
  const blocks = [block(1n), block(2n, "one", "", "three"), block(2n ** 40n, "x".repeat(100_000))];
  const file = openChainFile(path, origin);
  assert.deepEqual([...file.blocks()], []);
  for (const each of blocks) file.append(each);
  file.close();
  assert.deepEqual(recordedOrigin(path), origin);
  const again = openChainFile(path, { ...origin, timeNs: 99n });
  assert.deepEqual(again.origin, origin, "as it was then, not as it would be now");
  assert.deepEqual([...again.blocks()].map(plain), blocks.map(plain));
  again.close();
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("wherever the file was cut off, the whole blocks before are there, and it goes on from them", (t) => {
  const folder = temporaryFolder(t);
  const whole = join(folder, "whole");
  const cut = join(folder, "cut");
  const blocks = [block(1n, "one"), block(2n), block(3n, "two", "three")];
  const file = openChainFile(whole, origin);
  for (const each of blocks) file.append(each);
  file.close();
  const size = statSync(whole).size;
  fc.assert(
    fc.property(fc.integer({ min: 0, max: size }), (length) => {
      copyFileSync(whole, cut);
      truncateSync(cut, length);
      const opened = openChainFile(cut, origin);
      const kept = [...opened.blocks()];
      assert.deepEqual(kept.map(plain), blocks.slice(0, kept.length).map(plain));
      assert.equal(kept.length === blocks.length, length === size);
      opened.append(block(9n, "after"));
      opened.close();
      const reopened = openChainFile(cut, origin);
      assert.deepEqual([...reopened.blocks()].map(plain), [...kept, block(9n, "after")].map(plain));
      reopened.close();
    }),
    { numRuns: runs(100, 2_000) },
  );
});

test("whichever byte went bad, it costs the last block at most, or is reported", (t) => {
  const folder = temporaryFolder(t);
  const [good, bad] = [join(folder, "good"), join(folder, "bad")];
  const blocks = [block(1n, "one"), block(2n), block(3n, "two", "three")];
  const file = openChainFile(good, origin);
  for (const each of blocks) file.append(each);
  file.close();
  const bytes = readFileSync(good);
  const reported = new Set<string>();
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ change;
      writeFileSync(bad, changed);
      try {
        const opened = openChainFile(bad, origin);
        try {
          assert.deepEqual([...opened.blocks()].map(plain), blocks.slice(0, 2).map(plain));
        } finally {
          opened.close();
        }
      } catch (thrown) {
        if (!(thrown instanceof ProviderError)) throw thrown;
        reported.add(thrown.code);
      }
    }),
    { numRuns: runs(100, 2_000) },
  );
  assert.deepEqual([...reported], ["AKP_CHAIN_FILE_DAMAGED"]);
});

test("a file of something else is neither taken for a chain nor changed", (t) => {
  const path = join(temporaryFolder(t), "letter");
  writeFileSync(path, "Dear reader, this is not a chain.");
  assert.throws(() => openChainFile(path, origin), coded("AKP_CHAIN_FILE_DAMAGED", /does not begin as/));
  assert.throws(() => recordedOrigin(path), coded("AKP_CHAIN_FILE_DAMAGED"));
  assert.equal(readFileSync(path, "utf8"), "Dear reader, this is not a chain.");
});

test("the file of another chain is rejected", (t) => {
  const path = join(temporaryFolder(t), "chain");
  openChainFile(path, origin).close();
  for (const other of [
    { ...origin, chainId: "test-2" },
    { ...origin, appHash: "CD" },
  ]) {
    assert.throws(() => openChainFile(path, other), coded("AKP_CHAIN_FILE_OTHER"));
  }
});

test("a folder that is not there is reported as such", (t) => {
  const path = join(temporaryFolder(t), "nowhere", "chain");
  assert.throws(() => openChainFile(path, origin), coded("AKP_CHAIN_FILE_UNUSABLE", /ENOENT/));
});

test("a second writer is noticed before it does harm", (t) => {
  const path = join(temporaryFolder(t), "chain");
  const file = openChainFile(path, origin);
  t.after(() => file.close());
  assert.deepEqual([...file.blocks()], []);
  appendFileSync(path, "someone else");
  assert.throws(() => file.append(block(1n)), coded("AKP_CHAIN_FILE_DAMAGED", /something else writes/));
});

test("a node comes back with the same blocks, hashes and transactions, and goes on", async (t) => {
  const file = join(temporaryFolder(t), "chain");
  const seen: Answer[] = [];
  await withNode(file, async (node) => {
    for (const words of ["one", "fail two", "three"]) {
      await node.call("broadcast_tx_sync", { tx: wordsBase64(words) });
      node.step();
      seen.push([
        await node.call("block"),
        await node.call("block_results"),
        await node.call("commit", { height: "1" }),
      ]);
    }
  });
  await withNode(file, async (node) => {
    assert.equal(node.height, 3n);
    for (const [index, [block, results]] of seen.entries()) {
      const height = `${index + 1}`;
      assert.deepEqual(await node.call("block", { height }), block);
      assert.deepEqual(await node.call("block_results", { height }), results);
    }
    assert.deepEqual(await node.call("commit", { height: "1" }), seen[2][2], "the votes are the same too");
    assert.equal((await node.call("tx_search", { query: "tx.height<=3" })).total_count, "3");
    assert.equal(node.step().header.height, 4n);
  });
});

test("a chain that computes differently than when it was written does not start", async (t) => {
  const file = join(temporaryFolder(t), "chain");
  await withNode(file, async (node) => {
    for (let made = 0; made < 3; made++) node.step();
  });
  const changed = createFakeApp();
  const { finalizeBlock } = changed;
  changed.finalizeBlock = (input) => finalizeBlock({ ...input, timeNs: input.timeNs + 1n });
  await assert.rejects(startNode(t, { file, app: changed }), coded("AKP_CHAIN_REPLAY_DIVERGED", /block 2 .*another/));
});

test("a block whose record cannot be written is not made, and is tried again", async (t) => {
  const file = join(temporaryFolder(t), "chain");
  const node = await startNode(t, { file });
  await node.call("broadcast_tx_sync", { tx: wordsBase64("one") });
  const size = statSync(file).size;
  appendFileSync(file, "x");
  assert.throws(() => node.step(), coded("AKP_CHAIN_FILE_DAMAGED"));
  assert.equal(node.height, 0n);
  assert.equal(node.app.height, 0n);
  truncateSync(file, size);
  assert.deepEqual(
    node.step().txs.map((tx) => Buffer.from(tx).toString()),
    ["one"],
  );
});

test("a process that is killed loses no block that a client has seen", { timeout: 180_000 }, async (t) => {
  const file = join(temporaryFolder(t), "chain");
  const seen = new Map<string, string>();
  for (let lives = 0; lives < runs(2, 10); lives++) {
    await using owner = createOwner();
    const child = startProcess(owner, file);
    const { rpcUrl, height } = await eventually("the node listens", () => child.lines.find(({ rpcUrl }) => rpcUrl));
    assert.ok(Number(height) >= seen.size, `it came back at ${height} with ${seen.size} blocks seen`);
    for (const [each, hash] of seen) {
      const { result } = (await (await fetch(`${rpcUrl}/block?height=${each}`)).json()) as Answer;
      assert.equal(result.block_id.hash, hash, `block ${each}`);
    }
    const sending = Array.from({ length: 20 }, (_, index) =>
      fetch(`${rpcUrl}/broadcast_tx_commit?tx="${lives} ${index}"`).then((response) => response.json() as Answer),
    );
    const committed = await Promise.all(sending);
    await eventually("more blocks", () => child.lines.length > 10);
    await child.kill();
    for (const { height, hash } of child.lines) if (hash) seen.set(height, hash);
    for (const { result } of committed) assert.ok(seen.has(result.height));
  }
  const node = await startNode(t, { file });
  for (const [height, hash] of seen) assert.equal((await node.call("block", { height })).block_id.hash, hash);
});

async function withNode(file: string, work: (node: Awaited<ReturnType<typeof startNode>>) => Promise<void>) {
  await using owner = createOwner();
  await work(await startNode(owner, { file }));
}

function startProcess(owner: Owner, file: string) {
  const script = join(import.meta.dirname, "../../../../test/support/embedded-node-process.ts");
  const child = spawn(process.execPath, [script, file, "5"], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: Answer[] = [];
  createInterface(child.stdout).on("line", (line) => lines.push(JSON.parse(line)));
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const kill = () => {
    child.kill("SIGKILL");
    return closed;
  };
  owner.after(kill);
  return { lines, kill };
}

function coded(code: ErrorCode, words = /./): (thrown: unknown) => boolean {
  return (thrown) => {
    assert.ok(ProviderError.is(thrown, code), String(thrown));
    assert.match(thrown.message, words);
    return true;
  };
}
