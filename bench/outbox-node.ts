/** An embedded node with the market in a process of its own, for the outbox's benchmark: one block a second, by the clock. */
import { createApp } from "../src/box/chain/app.ts";
import { createNode } from "../src/box/chain/node/node.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { chainId, providerKey, tenantKey } from "../test/outbox-stage.ts";

const coins = ["uact", "uakt"].map((denom) => ({ denom, amount: 10n ** 15n }));
const accounts = [providerKey, tenantKey].map(({ address }) => ({ address, coins }));
const timeNs = BigInt(Date.now()) * 1_000_000n;
const app = createApp({ chainId, timeNs, accounts });
const node = createNode({ app, clock: realClock, log: silentLog, blockMs: 1_000 });
await node.start();
process.stdout.write(`${node.rpcUrl}\n`);
process.stdin.resume().on("end", () => void node.stop());
