/** The market of the demo on the virtual clock: its tenants and the other providers, with real transactions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTable } from "../../src/bidengine/pricing/table.ts";
import { createEmbeddedNode } from "../../src/box/chain/embedded-node.ts";
import { demoPrices } from "../../src/box/demo-prices.ts";
import { createNodeService } from "../../src/box/node-service.ts";
import { createRivalsService } from "../../src/box/rivals-service.ts";
import { deposits } from "../../src/box/story.ts";
import { createTenantsService, type TenantsStatus } from "../../src/box/tenants-service.ts";
import { readWishes, type Wish } from "../../src/box/wishes.ts";
import type { Chain } from "../../src/chain/chain.ts";
import { createSigner } from "../../src/chain/keys/signer.ts";
import { parseCoins, parseDecCoins, showDecCoin } from "../../src/market/coin.ts";
import { parseDecimal } from "../../src/market/decimal.ts";
import { groupSummary } from "../../src/market/group-spec.ts";
import { mostFor } from "../../src/market/group-totals.ts";
import { createProvider } from "../../src/provider/provider.ts";
import { sleep } from "../../src/runtime/clock.ts";
import type { Service } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { advanceUntilSettled } from "../support/advance-until-settled.ts";
import { memoryFolder } from "../support/folder.ts";
import { priceRequest } from "../support/price-settings.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const initialCoins = parseCoins("1000000000000uact,1000000000000uakt");
const settings = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };
const region = [{ key: "region", value: "box" }];

/** Runs tenants with these wishes until so many stories have ended, with a provider that does nothing. */
async function playMarket(
  dataDir: string,
  wishes: readonly Wish[],
  stories: number,
): Promise<{ status: TenantsStatus; openBids: readonly string[]; openOrders: readonly string[] }> {
  const clock = createVirtualClock();
  const random = createSeededRandom(7);
  const [signer, rival, ...tenantSigners] = Array.from({ length: 4 }, () => createSigner(random.bytes(32)));
  assert.ok(signer && rival);
  const node = createEmbeddedNode({
    chainId: "market-1",
    accounts: [signer, rival, ...tenantSigners].map(({ address }) => ({ address, coins: initialCoins })),
    clock,
    log: silentLog,
    blockMs: 1_000,
    listens: false,
  });
  let tenants: Service<TenantsStatus> | undefined;
  let chain: Promise<Chain> | undefined;
  const provider = createProvider({
    dataDir,
    before: [createNodeService(node)],
    chain: { nodes: () => [node.transport()], signer, settings },
    after(deps) {
      chain = deps.chain;
      // Nothing is won, so these are not read.
      const nothing = {
        workloads: Promise.resolve({ of: () => undefined, namespaces: 0 }),
        health: Promise.resolve({ get: () => undefined }),
        submit: () => Promise.reject(new Error("manifests are not accepted here")),
      };
      tenants = createTenantsService({ signers: tenantSigners, wishes, settings, stories }, { ...deps, ...nothing });
      const rivals = [{ signer: rival, attributes: region, sells: () => true }];
      return [createRivalsService({ rivals, settings }, deps), tenants];
    },
    clock,
    random,
    log: silentLog,
  });
  const stopping = new AbortController();
  async function watch() {
    for (;;) {
      const status = tenants?.status?.();
      const ended = Object.values(status?.ended ?? {}).reduce((sum, count) => sum + count, 0);
      if (status && ended >= stories) break;
      await sleep(clock, 1_000);
    }
    const { queries } = await (chain as Promise<Chain>);
    const orderOf = ({ id: { dseq } }: { id: { dseq: bigint } }) => `${dseq}`;
    const openBids = (await queries.bids({ state: "open" })).items.map(orderOf);
    const openOrders = (await queries.orders({ state: "open" })).items.map(orderOf);
    const status = tenants?.status?.();
    assert.ok(status);
    stopping.abort();
    return { status: structuredClone(status), openBids, openOrders };
  }
  const [seen] = await advanceUntilSettled(clock, Promise.all([watch(), provider.run(stopping.signal)]), 3_600_000);
  return seen;
}

test("a tenant leases from any bidder, closes without a bid, and every deposit is refunded", async (t) => {
  const wishes = readWishes().filter(({ name }) => ["web", "premium"].includes(name));
  const { status, openBids, openOrders } = await playMarket(memoryFolder(t), wishes, 6);
  const { stories, ended } = status;
  assert.ok(ended.elsewhere >= 2 && ended["no bids"] >= 2 && ended.won + ended.lost === 0, JSON.stringify(ended));
  for (const { wish, bids, lease, end } of stories.filter(({ end }) => end !== undefined)) {
    // The other provider publishes its region and no tier.
    assert.deepEqual([bids, end], wish === "web" ? [1, "elsewhere"] : [0, "no bids"]);
    assert.equal(lease !== undefined, wish === "web");
  }
  assert.deepEqual(
    openBids.filter((order) => !openOrders.includes(order)),
    [],
  );
});

test("the demo's orders are of many kinds, each with a short summary", () => {
  const wishes = readWishes();
  const resources = Object.fromEntries(wishes.map(({ name, groups: [group] }) => [name, group && groupSummary(group)]));
  assert.equal(resources["web"], "2 × 500m cpu 512Mi");
  assert.equal(resources["two 4090"], "2 rtx4090 8 cpu 32Gi");
  assert.equal(resources["any gpu"], "1 gpu 4 cpu 16Gi");
  assert.equal(resources["database"], "100Gi beta3 4 cpu 16Gi");
  assert.equal(resources["address"], "ip 1Gi beta3 1 cpu 1Gi");
  const audited = wishes.find(({ name }) => name === "audited")?.groups[0];
  assert.equal(audited?.requirements.anyOf.length, 1);
});

test("the least deposit is spent in seconds by the tenant who pays no more, and lasts far longer where there is plenty", async () => {
  const table = createTable(demoPrices, () => ({ price: undefined, why: "orders here are in dollars" }));
  for (const { name, funds, groups } of readWishes()) {
    const [group] = groups;
    assert.ok(group);
    const { price } = await table.quote(priceRequest(group, showDecCoin(mostFor(group))), AbortSignal.abort());
    const blocks = price ? Number(deposits[funds].amount) / (Number(price.amount.atto) / 1e18) : undefined;
    if (funds === "least") assert.ok(blocks !== undefined && blocks > 15 && blocks < 30, `${name}: ${blocks}`);
    else if (blocks !== undefined) assert.ok(blocks > 2_000, `${name}: ${blocks}`);
  }
});
