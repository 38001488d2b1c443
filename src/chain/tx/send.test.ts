import assert from "node:assert/strict";
import { test } from "node:test";
import { unreachable } from "../../../test/support/outbox-run.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { parseDecCoins } from "../../market/coin.ts";
import { parseDecimal } from "../../market/decimal.ts";
import { createSigner } from "../keys/signer.ts";
import type { Broadcaster, Included } from "./broadcaster.ts";
import { packMessage } from "./messages.ts";
import { sendMessages, sendValidMs } from "./send.ts";

const signer = createSigner(new Uint8Array(32).fill(7));
const message = packMessage("send", { fromAddress: signer.address, toAddress: signer.address, amount: [] });
const included: Included = { height: 3n, code: 0, codespace: "", log: "", gasUsed: 1n, events: [], admitted: true };
const blockMs = 6_000;

/** A chain whose blocks come by the clock, and what it says about the transaction. */
function stage(find: (height: bigint) => Included | undefined) {
  const clock = createVirtualClock();
  const startMs = clock.now();
  const chain: Broadcaster = {
    async head() {
      const height = BigInt(Math.floor((clock.now() - startMs) / blockMs));
      return { height, timeNs: (BigInt(startMs) + height * BigInt(blockMs)) * 1_000_000n };
    },
    account: async (_, height) => ({ number: 1n, sequence: 0n, height }),
    simulate: async () => ({ kind: "ran", gasUsed: 100_000n }),
    broadcast: async () => ({ kind: "taken" }),
    findTx: async (_, height) => find(height),
  };
  const settings = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };
  const deps = { chainId: "send-1", chain, signer, settings, clock, random: createSeededRandom(1) };
  async function send() {
    const ending = sendMessages(deps, [message]).then(
      (sent) => sent.height,
      (thrown) => thrown.code,
    );
    await clock.advance(5 * sendValidMs);
    return ending;
  }
  return { send, chain };
}

test("a node that is silent for a while after the transaction left does not make the command fail", async () => {
  let silences = 3;
  const { send } = stage(() => {
    silences -= 1;
    if (silences >= 0) throw unreachable("no node answers");
    return included;
  });
  assert.equal(await send(), 3n);
});

test("no node knows the result → the error names the hash and warns against sending again", async () => {
  const { send } = stage(() => {
    throw unreachable("no node answers");
  });
  assert.equal(await send(), "AKP_TX_UNSETTLED");
});

test("an answer that is lost on the way is no reason to send it again", async () => {
  const { send, chain } = stage(() => undefined);
  chain.broadcast = async () => {
    throw new Error("cut");
  };
  assert.equal(await send(), "AKP_TX_UNSETTLED");
});

test("a transaction whose time has passed is called lost only when its last block must be indexed", async () => {
  const lastBlock = BigInt(sendValidMs / blockMs);
  const late = stage((height) => (height >= lastBlock + 3n ? included : undefined));
  assert.equal(await late.send(), 3n);
  const never = stage(() => undefined);
  assert.equal(await never.send(), "AKP_TX_LOST");
});

test("a chain without unordered transactions is sent one with the account's sequence", async () => {
  const { send, chain } = stage(() => included);
  const simulated: Uint8Array[] = [];
  chain.simulate = async (tx) => {
    simulated.push(tx);
    if (simulated.length > 1) return { kind: "ran", gasUsed: 100_000n };
    return { kind: "refused", log: "unordered transactions are not enabled: not supported with gas used: '0'" };
  };
  assert.equal(await send(), 3n);
  assert.equal(simulated.length, 2);
});
