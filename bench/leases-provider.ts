/**
 * The provider that the benchmarks of leases measure, in a process of its own: all of it, over the wire, with a journal on
 * disk. `node bench/leases-provider.ts RPC_URL KUBECONFIG DATA_DIR [gateway] [leases-in=NAMESPACE]`; it runs its parent's
 * commands and reports how long they took.
 */
import { createPolicySource } from "../src/bidengine/policies/policy-source.ts";
import { createHttpTransports } from "../src/chain/comet/http-transport.ts";
import { noCertificate } from "../src/gateway/certificate/file-certificate.ts";
import { createHttpKube } from "../src/kube/http/http-kube.ts";
import { createKubeService } from "../src/kube/kube-service.ts";
import { formatLeaseId, parseLeaseId } from "../src/market/ids.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { createProvider, type ProviderServices } from "../src/provider/provider.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { untilAborted } from "../src/runtime/lifecycle.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { cell } from "../test/support/samples/lease-sdl.ts";
import { fixedPricing, snapshotFeed } from "../test/support/stages/bid-stage.ts";
import { certificateOf } from "../test/support/stages/gateway-stage.ts";
import { fees, marketOptions } from "../test/support/stages/lease-stage.ts";
import { deploymentOf, leaseOf, providerSigner } from "./leases-people.ts";
import { serveParent, sharedMs } from "./processes.ts";
import { cpuMs, rssMb } from "./report.ts";

export type Command =
  /** The manifests of these deployments, all at once. */
  | { readonly what: "submit"; readonly dseqs: readonly number[] }
  /** Since the last report. */
  | { readonly what: "healths" }
  | { readonly what: "reconcile" }
  | { readonly what: "memory" }
  | { readonly what: "stop" };

/** Where what is known of leases is kept in the cluster is another namespace than usual. */
export type ProviderOption = "gateway" | `leases-in=${string}`;

export type Report =
  | ({ readonly what: "ready" } & Start)
  /** Of each, from the answer to its tenant until its objects were in the cluster. */
  | { readonly what: "applied"; readonly ms: readonly number[] }
  | { readonly what: "healths"; readonly changes: readonly HealthChange[]; readonly cpuMs: number }
  | ({ readonly what: "reconciled" } & Reconciled)
  | { readonly what: "memory"; readonly rssMb: number };

export interface HealthChange {
  readonly namespace: string;
  readonly isHealthy: boolean;
  /** By the clock that all processes of this machine share. */
  readonly atMs: number;
}

export interface Reconciled {
  readonly cpuS: number;
  readonly leases: number;
  readonly drifts: number;
}

/** When what was so, in seconds since the process began. */
export interface Start {
  /** Every service runs: it bids, takes manifests and answers. */
  readonly readyS: number;
  /** Every lease has been looked at. */
  readonly lookedS: number;
  /** Of all that, how long the process was at work. */
  readonly cpuS: number;
  readonly leases: number;
  /** Of the gateway, where it has one; and of its gRPC. */
  readonly port: number;
  readonly grpcPort: number;
}

const sendReport = serveParent<Command, Report>(answer);
const [rpcUrl = "", kubeconfig = "", dataDir = "", ...more] = process.argv.slice(2);
const manifestNamespace = more.find((each) => each.startsWith("leases-in="))?.slice("leases-in=".length);
const deps = { clock: realClock, random: realRandom, log: silentLog };
const stopping = new AbortController();
const living = Promise.withResolvers<ProviderServices>();
const provider = createProvider({
  dataDir,
  chain: {
    nodes: () => createHttpTransports([{ url: rpcUrl }], realClock),
    signer: providerSigner,
    settings: fees,
  },
  kube: createKubeService(() => createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps)),
  market: {
    ...marketOptions({}),
    cluster: {
      ...marketOptions({}).cluster,
      ...(manifestNamespace !== undefined && { leases: { manifestNamespace } }),
    },
    inventory: () => snapshotFeed(realClock, 640_000n, [], ["beta3"]),
    pricing: () => ({ ...fixedPricing(), run: untilAborted }),
    policies: () => createPolicySource(undefined, deps),
  },
  ...(more.includes("gateway") && {
    gateway: {
      ...{
        listen: { host: "127.0.0.1", port: 0 },
        grpcListen: { host: "127.0.0.1", port: 0 },
        publicHost: "provider.example.com",
        version: "0.1.0",
      },
      certificates: { own: certificateOf(providerSigner.address), public: noCertificate },
    },
  }),
  after: (services) => [{ name: "bench", start: () => living.resolve(services) }],
  ...deps,
});
const ended = provider.run(stopping.signal);
const services = await Promise.race([living.promise, ended.then(() => Promise.reject(new Error("it ended")))]);
const readyS = performance.now() / 1_000;
const [manifests, journal] = await Promise.all([services.manifests, services.journal]);
const healths: HealthChange[] = [];
const cluster = await services.cluster;
cluster?.health.onChange((key, now, before) => {
  if (now?.state === before?.state || now === undefined || now.state === "unknown") return;
  healths.push({
    namespace: leaseNamespace(parseLeaseId(key)),
    isHealthy: now.state === "healthy",
    atMs: sharedMs(),
  });
});
await atRest();
sendReport({
  what: "ready",
  readyS,
  lookedS: performance.now() / 1_000,
  cpuS: cpuMs() / 1_000,
  leases: provider.status().cluster?.leases ?? 0,
  port: provider.status().gateway?.port ?? 0,
  grpcPort: provider.status().gateway?.grpcPort ?? 0,
});

async function answer(command: Command): Promise<void> {
  if (command.what === "submit") sendReport({ what: "applied", ms: await Promise.all(command.dseqs.map(submit)) });
  if (command.what === "healths") sendReport({ what: "healths", changes: healths.splice(0), cpuMs: cpuMs() });
  if (command.what === "reconcile") sendReport({ what: "reconciled", ...(await reconcile()) });
  if (command.what === "memory") sendReport({ what: "memory", rssMb: rssMb() });
  if (command.what === "stop") {
    stopping.abort();
    await ended;
    process.disconnect();
  }
}

/** All work of the process meanwhile: at rest there is hardly any other. */
async function reconcile(): Promise<Reconciled> {
  globalThis.gc?.();
  const beforeMs = cpuMs();
  const report = await cluster?.reconcile({ dryRun: true }, stopping.signal);
  const cpuS = (cpuMs() - beforeMs) / 1_000;
  const { compared, drifts = [], more = 0 } = report ?? {};
  return { cpuS, leases: compared?.leases ?? 0, drifts: drifts.length + more };
}

async function submit(dseq: number): Promise<number> {
  await manifests?.submit(deploymentOf(dseq), JSON.stringify(cell().manifest));
  const startedMs = performance.now();
  const key = formatLeaseId(leaseOf(dseq));
  while (journal.read.manifests.get(key)?.deployed === undefined) await sleep(realClock, 2);
  return performance.now() - startedMs;
}

async function atRest(): Promise<void> {
  const isBusy = () => provider.status().queues.some(({ counts }) => counts.ready + counts.running > 0);
  while (isBusy()) await sleep(realClock, 5);
}
