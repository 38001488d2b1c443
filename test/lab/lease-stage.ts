/** The lab's cluster, a chain with a tenant, and providers that come and go as processes of their own, one at a time. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createEmbeddedNode } from "../../src/box/chain/embedded-node.ts";
import type { Queries } from "../../src/chain/chain.ts";
import { createPool } from "../../src/chain/comet/pool.ts";
import { createQueries } from "../../src/chain/comet/queries/queries.ts";
import { createSigner, type Signer } from "../../src/chain/keys/signer.ts";
import { createCometBroadcaster } from "../../src/chain/tx/comet-broadcaster.ts";
import {
  closeDeployment,
  createDeployment,
  createLease,
  type PackedMessage,
  packMessage,
  updateDeployment,
} from "../../src/chain/tx/messages.ts";
import { sendMessages } from "../../src/chain/tx/send.ts";
import { parseCoin, parseCoins, parseDecCoins } from "../../src/market/coin.ts";
import { parseDecimal } from "../../src/market/decimal.ts";
import { type DeploymentId, formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { manifestHash } from "../../src/market/manifest.ts";
import type { Sdl } from "../../src/market/sdl/sdl.ts";
import { sortedJson } from "../../src/market/sorted-json.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { eventually } from "../support/eventually.ts";
import { startFakeIpOperator } from "../support/fake-ip-operator.ts";
import { temporaryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import type { ChildMessage, LeaseTask } from "./lease-child.ts";
import { attributes } from "./lease-sdl.ts";
import type { ProviderAccount } from "./provider-account.ts";

const coins = parseCoins("1000000000000uact,1000000000000uakt");
const fees = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };
const clock = realClock;
const blockMs = 300;
/** Of a process that starts, brings a lease to where it should be, and ends, on a busy machine. */
const lifeMs = 120_000;

export type Life = Pick<LeaseTask, "sends" | "until" | "writesEvent">;

export interface LeaseStage {
  readonly queries: Queries;
  /** Where its commands find it. */
  readonly dir: string;
  /** Posts an order and accepts the provider's bid on it; no provider runs afterwards. */
  win(dseq: bigint, sdl: Sdl): Promise<LeaseId>;
  update(deployment: DeploymentId, sdl: Sdl): Promise<void>;
  close(deployment: DeploymentId): Promise<void>;
  /** Runs one process until its task is done. */
  live(life: Life): Promise<void>;
  /**
   * Runs processes, each killed at a boundary at which no earlier one was, until one ends by itself; returns the boundaries and
   * the writes in flight.
   */
  liveAndDie(life: Life): Promise<string[]>;
  /** Runs one process until `stop`; resolves when it is ready. */
  start(): Promise<{ stop(): Promise<void> }>;
}

export function bodyOf({ manifest }: Sdl): string {
  return sortedJson(manifest);
}

export async function leaseStage(owner: Owner, account: ProviderAccount): Promise<LeaseStage> {
  const folder = temporaryFolder(owner);
  const secret = realRandom.bytes(32);
  const [provider, tenant] = [createSigner(secret), createSigner(realRandom.bytes(32))];
  const node = createEmbeddedNode({
    chainId: "leases-1",
    accounts: [provider, tenant].map(({ address }) => ({ address, coins })),
    ...{ blockMs, clock, log: silentLog, listens: true },
  });
  await node.start();
  owner.after(() => node.stop());
  const pool = createPool({ nodes: [node.transport("tenant's node")], clock, random: realRandom, log: silentLog });
  await pool.open();
  owner.after(() => pool.close());
  const broadcaster = createCometBroadcaster(pool);
  const queries = createQueries(pool);

  async function send(signer: Signer, ...messages: PackedMessage[]): Promise<void> {
    const deps = { chainId: node.chainId, chain: broadcaster, signer, settings: fees, clock, random: realRandom };
    await sendMessages(deps, messages);
  }

  const entry = {
    owner: provider.address,
    hostUri: "https://provider.example.com:8443",
    attributes,
    info: undefined,
  };
  await send(provider, packMessage("createProvider", entry));

  const task = {
    dir: join(folder, "provider"),
    rpcUrl: node.rpcUrl,
    secret,
    kubeconfig: account.kubeconfig,
    manifestNamespace: account.leaseNamespace,
    ipOperatorPort: (await startFakeIpOperator(owner, 10)).port,
  };

  async function start() {
    const { child, ended, isReady } = begin(owner, { ...task, until: "stopped" });
    await Promise.race([isReady(), ended]);
    return {
      async stop() {
        child.send("stop");
        await inTime("the end", ended);
      },
    };
  }

  return {
    queries,
    dir: task.dir,
    start,
    async win(dseq, { groups, manifest }) {
      const id = { owner: tenant.address, dseq };
      const lease = { ...id, gseq: 1, oseq: 1, provider: provider.address, bseq: 0 };
      const running = await start();
      await send(
        tenant,
        createDeployment({ id, groups, hash: manifestHash(manifest), deposit: parseCoin("5000000uact") }),
      );
      await eventually("our bid", async () => (await queries.bid(lease)).value, lifeMs);
      await send(tenant, createLease(lease));
      await running.stop();
      return lease;
    },
    update: (id, { manifest }) => send(tenant, updateDeployment(id, manifestHash(manifest))),
    close: (id) => send(tenant, closeDeployment(id)),
    async live(life) {
      assert.equal(await inTime(textOf(life), begin(owner, { ...task, ...life }).ended), "done");
    },
    async liveAndDie(life) {
      const killed: string[] = [];
      const note = join(folder, "killed-at");
      for (;;) {
        const { ended } = begin(owner, { ...task, ...life, kill: { not: killed, note } });
        if ((await inTime(`${textOf(life)}, killed ${killed.length} times`, ended)) === "done") return killed;
        killed.push(...readFileSync(note, "utf8").split("\n"));
        rmSync(note);
      }
    },
  };
}

/** How it ended: by itself, or by the signal that it sent itself. */
export function begin(owner: Owner, life: LeaseTask) {
  const child = fork(join(import.meta.dirname, "lease-child.ts"), { serialization: "advanced" });
  owner.after(() => void child.kill("SIGKILL"));
  const messages: ChildMessage[] = [];
  child.on("message", (message: ChildMessage) => void messages.push(message));
  const ended = (once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>).then(([code, signal]) => {
    if (signal === "SIGKILL" && life.kill) return "killed";
    assert.deepEqual({ code, failed: messages.filter((each) => typeof each === "object") }, { code: 0, failed: [] });
    return "done";
  });
  child.send(life);
  const isReady = () => eventually("the provider", () => messages.includes("ready"), lifeMs);
  return { child, ended: ended as Promise<"killed" | "done">, isReady };
}

export async function inTime<T>(what: string, ended: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = clock.timer(lifeMs, () => late.reject(new Error(`${what}: not within ${lifeMs} ms`)));
  try {
    return await Promise.race([ended, late.promise]);
  } finally {
    timer.cancel();
  }
}

function textOf({ until }: Life): string {
  return until === "stopped" ? until : `${until.lease} ${until.isSo}`;
}

export function keyOf(lease: LeaseId): string {
  return formatLeaseId(lease);
}
