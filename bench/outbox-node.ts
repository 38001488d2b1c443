/** An embedded node with the market in a process of its own, for the outbox's benchmark: blocks come by the clock. */
import { createApp } from "../src/box/chain/app.ts";
import { createNode } from "../src/box/chain/node/node.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { chainId, providerKey, tenantKey } from "../test/support/stages/outbox-stage.ts";
import { serveParent } from "./processes.ts";
import { size } from "./report.ts";

export interface Report {
  readonly what: "ready";
  readonly rpcUrl: string;
}

const coins = ["uact", "uakt"].map((denom) => ({ denom, amount: 10n ** 15n }));
const accounts = [providerKey, tenantKey].map(({ address }) => ({ address, coins }));
const timeNs = BigInt(Date.now()) * 1_000_000n;
const app = createApp({ chainId, timeNs, accounts });
const node = createNode({ app, clock: realClock, log: silentLog, blockMs: size(1_000, 200) });
await node.start();
serveParent<never, Report>()({ what: "ready", rpcUrl: node.rpcUrl });
