/** The parent's side of the benchmarks of leases: the tenant, and the other processes. */
import { once } from "node:events";
import { createHttpTransports } from "../src/chain/comet/http-transport.ts";
import { createPool } from "../src/chain/comet/pool.ts";
import { createQueries } from "../src/chain/comet/queries/queries.ts";
import type { Signer } from "../src/chain/keys/signer.ts";
import { createCometBroadcaster } from "../src/chain/tx/comet-broadcaster.ts";
import { createDeployment, createLease, type PackedMessage } from "../src/chain/tx/messages.ts";
import { sendMessages } from "../src/chain/tx/send.ts";
import { parseCoin } from "../src/market/coin.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { manifestHash } from "../src/market/manifest.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { temporaryFolder } from "../test/support/folder.ts";
import type { Owner } from "../test/support/owner.ts";
import { cell } from "../test/support/samples/lease-sdl.ts";
import { fees, registration } from "../test/support/stages/lease-stage.ts";
import type { Command as BoxCommand, Report as BoxReport, PodChange } from "./leases-box.ts";
import { chainId, deploymentOf, leaseOf, providerSigner, signerOf } from "./leases-people.ts";
import type { Command, HealthChange, ProviderOption, Reconciled, Report } from "./leases-provider.ts";
import { launch, nextMessage, startChild } from "./processes.ts";
import { size } from "./report.ts";

/** Messages of one transaction. */
const perTransaction = 50;

export type Market = Awaited<ReturnType<typeof startMarket>>;

export async function startMarket(owner: Owner) {
  const box = startChild(owner, "leases-box.ts", temporaryFolder(owner));
  const commandBox = (command: BoxCommand) => void box.send(command);
  const { rpcUrl, kubeconfig } = await nextMessage<BoxReport, "ready">(box, "ready");
  const deps = { clock: realClock, random: realRandom, log: silentLog };
  const pool = createPool({ nodes: createHttpTransports([{ url: rpcUrl }], realClock), ...deps });
  owner.after(() => pool.close());
  await pool.open();
  const queries = createQueries(pool);
  const sending = {
    chainId,
    chain: createCometBroadcaster(pool),
    settings: fees,
    clock: realClock,
    random: realRandom,
  };

  async function send(signer: Signer, messages: readonly PackedMessage[]): Promise<void> {
    for (let from = 0; from < messages.length; from += perTransaction) {
      await sendMessages({ ...sending, signer }, messages.slice(from, from + perTransaction));
    }
  }
  await sendMessages({ ...sending, signer: providerSigner }, [registration(providerSigner.address)]);

  return {
    rpcUrl,
    /** Of the simulated cluster. */
    kubeconfig,
    /** The provider that runs must bid on them. */
    async lease(dseqs: readonly number[], { groups, manifest } = cell()): Promise<void> {
      const signer = signerOf(dseqs[0] ?? 0);
      const hash = manifestHash(manifest);
      const deposit = parseCoin("5000000uact");
      await send(
        signer,
        dseqs.map((dseq) => createDeployment({ id: deploymentOf(dseq), groups, hash, deposit })),
      );
      for (const dseq of dseqs) {
        while ((await queries.bid(leaseOf(dseq))).value?.state !== "open") await sleep(realClock, 100);
      }
      await send(
        signer,
        dseqs.map((dseq) => createLease(leaseOf(dseq))),
      );
    },
    /**
     * Requests that the simulated cluster received since the last call. Without Events, which are limited to sixty a minute: those
     * of hundreds of new leases take longer than what is measured.
     */
    async requests(): Promise<readonly string[]> {
      const answer = nextMessage<BoxReport, "requests">(box, "requests");
      commandBox({ what: "requests" });
      return (await answer).requests.filter((request) => !request.includes("/apis/events.k8s.io/"));
    },
    /** Resolves when the simulated cluster had no request for a second. */
    async quiet(): Promise<void> {
      do await sleep(realClock, size(1_000, 300));
      while ((await this.requests()).length > 0);
    },
    /** Resolves when it is in a block. */
    send: (signer: Signer, message: PackedMessage) => send(signer, [message]),
    blocksEvery: (everyMs: number) => commandBox({ what: "blocks", everyMs }),
    deletePods: (dseqs: readonly number[]) => commandBox({ what: "delete", dseqs }),
    /** What became of the pods of leases in the simulated cluster, since the last time. */
    async changes(): Promise<readonly PodChange[]> {
      const answer = nextMessage<BoxReport, "changes">(box, "changes");
      commandBox({ what: "changes" });
      return (await answer).changes;
    },
  };
}

export type BenchedProvider = Awaited<ReturnType<typeof startProvider>>;

/** Resolves when it has looked at every lease. */
export async function startProvider(rpcUrl: string, kubeconfig: string, dataDir: string, ...more: ProviderOption[]) {
  const child = launch("leases-provider.ts", rpcUrl, kubeconfig, dataDir, ...more);
  const ended = once(child, "exit");
  const ask = (command: Command) => void child.send(command);
  const start = await nextMessage<Report, "ready">(child, "ready");
  return {
    start,
    async submit(dseqs: readonly number[]): Promise<readonly number[]> {
      const answer = nextMessage<Report, "applied">(child, "applied");
      ask({ what: "submit", dseqs });
      return (await answer).ms;
    },
    /** As it saw leases become well or unhealthy, since the last time. */
    async healths(): Promise<{ readonly changes: readonly HealthChange[]; readonly cpuMs: number }> {
      const answer = nextMessage<Report, "healths">(child, "healths");
      ask({ what: "healths" });
      return answer;
    },
    /** Resolves when each of these leases, which were just submitted, has become healthy. */
    async untilHealthy(dseqs: readonly number[]): Promise<void> {
      const awaited = new Set(dseqs.map((dseq) => leaseNamespace(leaseOf(dseq))));
      while (awaited.size > 0) {
        await sleep(realClock, 100);
        const { changes } = await this.healths();
        for (const { namespace, isHealthy } of changes) if (isHealthy) awaited.delete(namespace);
      }
    },
    async reconcile(): Promise<Reconciled> {
      const answer = nextMessage<Report, "reconciled">(child, "reconciled");
      ask({ what: "reconcile" });
      return answer;
    },
    async memory(): Promise<number> {
      const answer = nextMessage<Report, "memory">(child, "memory");
      ask({ what: "memory" });
      return (await answer).rssMb;
    },
    async stop(): Promise<void> {
      ask({ what: "stop" });
      await ended;
    },
  };
}
