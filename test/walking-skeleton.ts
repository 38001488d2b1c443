/** A provider with the skeleton's service, on a chain of its own that makes blocks in real time, and any cluster. */

import { join } from "node:path";
import { createEmbeddedNode } from "../src/box/chain/embedded-node.ts";
import type { Node } from "../src/box/chain/node/node.ts";
import type { Chain } from "../src/chain/chain.ts";
import { createHttpTransports } from "../src/chain/comet/http-transport.ts";
import { createSigner } from "../src/chain/keys/signer.ts";
import type { Kube, KubeObject } from "../src/kube/kube.ts";
import { parseCoins, parseDecCoins } from "../src/market/coin.ts";
import { parseDecimal } from "../src/market/decimal.ts";
import type { BidId } from "../src/market/ids.ts";
import { createProvider } from "../src/provider/provider.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { temporaryFolder } from "./folder.ts";
import type { Owner } from "./owner.ts";
import { createSkeletonService } from "./skeleton-service.ts";

const random = createSeededRandom(1);
export const providerSigner = createSigner(random.bytes(32));
export const tenantSigner = createSigner(random.bytes(32));
export const purse = parseCoins("1000000000uact,1000000000uakt");
export const fees = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };

export interface Skeleton {
  readonly node: Node;
  readonly chain: Chain;
}

export async function startSkeleton(t: Owner, kube: Kube, workloadOf: (lease: BidId) => KubeObject): Promise<Skeleton> {
  const clock = realClock;
  const node = createEmbeddedNode({
    chainId: "skeleton-1",
    accounts: [providerSigner, tenantSigner].map(({ address }) => ({ address, coins: purse })),
    clock,
    log: silentLog,
    blockMs: 100,
  });
  t.after(() => node.stop());
  await node.start();
  const stopping = new AbortController();
  const ready = Promise.withResolvers<Chain>();
  const provider = createProvider({
    dataDir: join(temporaryFolder(t), "data"),
    chain: {
      nodes: () => createHttpTransports([{ url: node.rpcUrl }], clock),
      signer: providerSigner,
      settings: fees,
    },
    after: (foundation) => [createSkeletonService(foundation, { kube, workloadOf, onReady: ready.resolve })],
    clock,
    random,
    log: silentLog,
  });
  const running = provider.run(stopping.signal);
  t.after(() => {
    stopping.abort();
    return running;
  });
  const chain = await Promise.race([ready.promise, running.then(() => Promise.reject(new Error("it ended")))]);
  return { node, chain };
}
