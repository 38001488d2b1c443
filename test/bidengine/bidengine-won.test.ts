import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { RpcTransport } from "../../src/chain/comet/transport.ts";
import { installDefinitions } from "../../src/kube/definitions.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { SimulatedCrash } from "../support/counting-boundary.ts";
import { type FaultTransport, faultTransport } from "../support/fault-transport.ts";
import { memoryFolder } from "../support/folder.ts";
import { type BidStage, onBidStage } from "../support/stages/bid-stage.ts";

/** A node that takes its time over what auditors have signed, and over nothing else. */
function slowly({ node, clock }: BidStage): RpcTransport {
  const inner = node.transport();
  return {
    ...inner,
    async send(request, bounds) {
      if (request.text.includes("akash.audit")) await sleep(clock, 3_000);
      return inner.send(request, bounds);
    },
  };
}

test("bid won while the provider was down → stays won, also if it was about to be closed", async (t) => {
  await onBidStage(t, async (stage) => {
    const options = { bidTimeoutMs: 20_000 };
    const dir = join(memoryFolder(t), "provider");
    await stage.register("one");
    let dead = false;
    const boundary = {
      cross(kind: string, point: string) {
        dead ||= kind === "journal" && /\bclose bid\b.*commit:after/.test(point);
        if (dead) throw new SimulatedCrash(point);
      },
    };
    const first = stage.start("one", { dir, boundary, options });
    const one = await first.ready;
    const order = await stage.post(1n);
    const bid = one.bidOn(order);
    await stage.until("a bid", async () => (await stage.queries.bid(bid)).value?.state === "open");
    await stage.until("the crash", () => dead);
    await first.stop().catch(() => undefined);
    await stage.accept(bid);
    await sleep(stage.clock, 5 * 60_000);
    assert.equal((await stage.queries.lease(bid)).value?.state, "active");
    const nodes = () => [slowly(stage)];
    const again = await stage.start("one", { dir, options, nodes }).ready;
    await stage.blocks(10);
    assert.equal((await stage.queries.lease(bid)).value?.state, "active");
    assert.equal(again.engine.orders(1)[0]?.outcome, "won");
  });
});

for (const { begins, at } of [
  { begins: "its close is filed", at: /\bclose bid\b.*commit:after/ },
  { begins: "its close is signed and leaves", at: /^broadcast:before/ },
]) {
  for (const outageMs of [20_000, 50_000, 300_000]) {
    test(`a bid that is won in an outage of ${outageMs / 1_000} s, which begins when ${begins}, keeps its lease`, async (t) => {
      const play = async (stage: BidStage) => {
        const only = faultTransport(stage.node.transport("only"));
        let isOpen = false;
        const boundary = {
          cross(_: string, point: string) {
            if (isOpen && at.test(point)) only.hangs = () => true;
          },
        };
        const options = { bidTimeoutMs: 20_000 };
        const one = await stage.provider("one", { boundary, options, nodes: () => [only] });
        const order = await stage.post(1n);
        const bid = one.bidOn(order);
        await stage.until("a bid", async () => (await stage.queries.bid(bid)).value?.state === "open");
        isOpen = true;
        await stage.until("the outage", () => only.hangs("status"));
        isOpen = false;
        await stage.accept(bid);
        await sleep(stage.clock, outageMs);
        assert.equal((await stage.queries.lease(bid)).value?.state, "active");
        only.hangs = () => false;
        await stage.blocks(30);
        assert.equal((await stage.queries.lease(bid)).value?.state, "active");
        assert.equal(one.engine.orders(1)[0]?.outcome, "won");
        assert.equal(one.chain.outbox.counts.owed, 0);
      };
      await onBidStage(t, play, { blockMs: 6_000 });
    });
  }
}

for (const others of [1, 2]) {
  for (const behind of [1n, 2n]) {
    test(`no close leaves for a bid whose win the node in use, ${behind} blocks behind ${others} other(s), has not seen`, async (t) => {
      const play = async (stage: BidStage) => {
        const nodes = Array.from({ length: others + 1 }, (_, at) => faultTransport(stage.node.transport(`node ${at}`)));
        const one = await stage.provider("one", { options: { bidTimeoutMs: 120_000 }, nodes: () => nodes });
        const bid = one.bidOn(await stage.post(1n));
        await stage.until("a bid", async () => (await stage.queries.bid(bid)).value?.state === "open");
        let isBehind = true;
        const frozenAt = { get: () => (isBehind ? stage.node.height - behind : undefined) };
        Object.defineProperty(nodes[0], "frozenAt", frozenAt);
        // The block before the one at which its close is filed.
        await sleep(stage.clock, 116_000 + 6_000 * Number(behind));
        await stage.accept(bid);
        await stage.blocks(10);
        isBehind = false;
        await stage.blocks(10);
        assert.equal((await stage.queries.lease(bid)).value?.state, "active");
      };
      await onBidStage(t, play, { blockMs: 6_000 });
    });
  }

  test(`a close leaves while the node in use reports one block more than ${others} other(s)`, async (t) => {
    const play = async (stage: BidStage) => {
      const nodes = Array.from({ length: others + 1 }, (_, at) => faultTransport(stage.node.transport(`node ${at}`)));
      const one = await stage.provider("one", { options: { bidTimeoutMs: 30_000 }, nodes: () => nodes });
      const bid = one.bidOn(await stage.post(1n));
      await stage.until("a bid", async () => (await stage.queries.bid(bid)).value?.state === "open");
      (nodes[0] as FaultTransport).answer = async (method, ofNode) => {
        const { status, body } = await ofNode();
        if (method !== "status") return { status, body };
        const overstated = (height: string) => `${BigInt(height) + 1n}`;
        return { status, body: body.replace(/(?<="latest_block_height":")\d+/, overstated) };
      };
      await stage.blocks(20);
      assert.equal((await stage.queries.bid(bid)).value?.state, "closed");
    };
    await onBidStage(t, play, { blockMs: 6_000 });
  });
}

test("bid won and its lease closed while the provider was down → recorded as won", async (t) => {
  await onBidStage(t, async (stage) => {
    const dir = join(memoryFolder(t), "provider");
    await stage.register("one");
    const first = stage.start("one", { dir });
    const one = await first.ready;
    const free = one.freeMilli();
    const bid = one.bidOn(await stage.post(1n));
    await stage.until("a bid", async () => (await stage.queries.bid(bid)).value?.state === "open");
    await first.stop();
    await stage.accept(bid);
    await stage.close(1n);
    const again = await stage.start("one", { dir }).ready;
    await stage.until("its outcome", () => again.engine.orders(1)[0]?.outcome !== "bid");
    const [line] = again.engine.orders(1);
    assert.deepEqual([line?.outcome, again.status()?.outcomes.lost], ["won", 0]);
    await stage.until("its room to be free", () => again.freeMilli() === free);
  });
});

test("a lease that is closed for the lack of a manifest gives its room back, and is no bid that was taken back", async (t) => {
  await onBidStage(t, async (stage) => {
    await installDefinitions(stage.cluster.connect("akash-provider-install"), stage.clock);
    const one = await stage.provider("one", { manifestTimeoutMs: 20_000 });
    const free = one.freeMilli();
    const bid = one.bidOn(await stage.post(1n));
    await stage.until("a bid", async () => (await stage.queries.bid(bid)).value?.state === "open");
    await stage.accept(bid);
    await stage.until("its end", async () => (await stage.queries.lease(bid)).value?.state === "closed");
    assert.equal((await stage.queries.lease(bid)).value?.reason, 10_003);
    await stage.until("its room to be free", () => one.freeMilli() === free);
    assert.equal(one.engine.orders(1)[0]?.outcome, "won");
    const sent = one.journal.read.intents.about(formatLeaseId(bid));
    assert.deepEqual(
      sent.map(({ what, state }) => [what, state]),
      [["closeBid", "done"]],
    );
  });
});
