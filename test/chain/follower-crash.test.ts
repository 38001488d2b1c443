/** The program dies at every write of the journal while it follows, and starts again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Journal } from "../../src/journal/journal.ts";
import { opensJournal } from "../support/boundary-kinds.ts";
import { createCountingBoundary } from "../support/counting-boundary.ts";
import { type EventChain, follow, openPool, startEventChain } from "../support/event-chain.ts";
import { eventually } from "../support/eventually.ts";
import { memoryFolder } from "../support/folder.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { runs } from "../support/runs.ts";

/** Where the consumer notes how far it got. */
const ownMark = "consumer";

interface Life {
  readonly handed: readonly bigint[];
  readonly crossings: readonly string[];
  readonly crashed: boolean;
  /** What stood in the journal when it was opened. */
  readonly found: { readonly cursor: bigint; readonly mark: bigint };
}

/** Follows until the head or until the crash at the k-th boundary. */
async function live(owner: Owner, chain: EventChain, dir: string, crashAt: number): Promise<Life> {
  const boundary = createCountingBoundary(crashAt);
  const handed: bigint[] = [];
  const found = { cursor: 0n, mark: 0n };
  let own: Journal | undefined;
  const pool = openPool(owner, [chain.node.rpcUrl]);
  await pool.open();
  try {
    const following = await follow(owner, pool, {
      dir,
      boundary,
      hurried: true,
      opened(journal) {
        own = journal;
        found.cursor = journal.read.cursor.get(chain.node.chainId) ?? 0n;
        found.mark = journal.read.cursor.get(ownMark) ?? 0n;
      },
      consumer: {
        async block({ height }) {
          await own?.relaxed("consumer", ({ cursor }) => cursor.set(ownMark, height));
          handed.push(height);
        },
      },
    });
    const died = following.ended.then(
      () => true,
      () => true,
    );
    const arrived = eventually("the cursor at the head", () => {
      return boundary.crashed || following.journal.read.cursor.get(chain.node.chainId) === chain.node.height;
    });
    await Promise.race([died, arrived]);
    await following.stop();
  } catch (thrown) {
    if (!boundary.crashed) throw thrown;
  }
  return { handed, crossings: boundary.crossings, crashed: boundary.crashed, found };
}

test("after a crash at any write of the journal every block is handed over, in order, and the cursor was never ahead", async (t) => {
  await using owner = createOwner();
  const chain = await startEventChain(owner, { perBlock: 1 });
  const blocks = runs(8, 60);
  for (let made = 0; made < blocks; made += 1) await chain.block();
  const { crossings } = await live(owner, chain, memoryFolder(owner), 0);
  const points = crossings.flatMap((about, index) => (opensJournal(about) ? [] : index + 1));
  assert.ok(points.length >= 10);
  for (const crashAt of points) {
    await using each = createOwner();
    const dir = memoryFolder(each);
    const first = await live(each, chain, dir, crashAt);
    // How many commits there are depends on what is written together.
    if (!first.crashed) break;
    const second = await live(each, chain, dir, 0);
    const where = `crash ${crashAt} at ${first.crossings.at(-1)}`;
    const lastHanded = first.handed.at(-1) ?? 0n;
    assert.ok(second.found.cursor <= lastHanded, `${where}: the cursor is at ${second.found.cursor} of ${lastHanded}`);
    const { cursor, mark } = second.found;
    assert.ok(cursor <= mark, `${where}: the cursor is at ${cursor}, and the consumer has only ${mark}`);
    for (const { handed, found } of [first, second]) {
      assert.deepEqual(
        handed,
        handed.map((_, index) => found.cursor + BigInt(index) + 1n),
        `${where}: in order`,
      );
    }
    assert.equal(second.found.cursor + BigInt(second.handed.length), BigInt(blocks), `${where}: to the end`);
  }
  t.diagnostic(`${points.length} crashes`);
});
