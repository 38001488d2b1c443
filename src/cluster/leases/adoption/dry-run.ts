/**
 * What adopting a cluster would do: the lease loop's own code runs for every lease that the chain has, on a cluster that is
 * only read. It needs neither a running provider nor its journal.
 */
import type { Chain, MirrorView, Queries } from "../../../chain/chain.ts";
import { type Lease, runs } from "../../../chain/records.ts";
import { listRunningLeases } from "../../../chain/running-leases.ts";
import { restoredRow } from "../../../journal/manifests.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube } from "../../../kube/kube.ts";
import { leaseOfLabels, managedSelector, serviceLabel } from "../../../kube/objects/lease-labels.ts";
import { readManifestResource } from "../../../kube/objects/read-manifest-resource.ts";
import { keptForLabel, madeForLabel, templateLabel } from "../../../kube/objects/workload-object.ts";
import type { Address } from "../../../market/address.ts";
import { type BidId, deploymentOf, formatDeploymentId, formatLeaseId, type LeaseId } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { type Clock, sleep } from "../../../runtime/clock.ts";
import { minute } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { inParallel } from "../../../runtime/in-parallel.ts";
import type { Scope } from "../../../runtime/lifecycle.ts";
import { silentLog } from "../../../runtime/log.ts";
import { promisedUnits } from "../../capacity/reservations/reservation.ts";
import { createDeploy } from "../deploy.ts";
import { createLeaseStates } from "../lease-states.ts";
import { type LiveObject, type LiveObjects, liveText } from "../live-objects.ts";
import { type LeaseSettings, watchCluster } from "../watched-cluster.ts";
import { isWorkload } from "./adoption.ts";
import { createDryRunKube, type DryRunWrite } from "./dry-run-kube.ts";
import { freeRoom, podsOnNodes, takeRoom } from "./free-room.ts";

/** Leases queried from the chain at once: a node answers hundreds a second. */
const dryRunQueries = 8;
/** Deadline for the caches: thousands of leases take seconds. */
const cachesSyncMs = minute;
const cachesCheckMs = 50;

interface DryRunDeps {
  readonly queries: Pick<Queries, "leases" | "lease" | "deployment" | "bid">;
  readonly provider: Address;
  readonly kube: Pick<Kube, "get" | "watch" | "list" | "fieldManager">;
  readonly options: LeaseSettings;
  readonly clock: Clock;
}

export type AdoptionDryRun = Awaited<ReturnType<typeof dryRunAdoption>>;

export interface DryRunLease {
  readonly lease: string;
  readonly namespace: string;
  /** `pods`: those that are on a node. */
  readonly kept: readonly { readonly workload: string; readonly replicas: number; readonly pods: number }[];
  readonly changes: readonly (Pick<DryRunWrite, "does" | "fields"> & { readonly object: string })[];
  /** Objects without a service or lease, and what the lease would not get. */
  readonly unplaced: readonly string[];
}

export async function dryRunAdoption(deps: DryRunDeps, signal: AbortSignal) {
  const { queries, provider, options, clock } = deps;
  let writes: DryRunWrite[] = [];
  const { kube, shown } = createDryRunKube(deps.kube, (write) => writes.push(write));
  const closing: Parameters<Scope["onStop"]>[0][] = [];
  const scope: Scope = { signal, task: () => undefined, onStop: (close) => void closing.push(close) };
  try {
    const listed = await listRunningLeases(queries, provider, { signal });
    const running = new Map(listed.items.map((lease) => [formatLeaseId(lease.id), lease]));
    const mirror = await readMirror(queries, listed.items, signal);
    const cluster = watchCluster({ kube, provider, options, clock, onChange: () => undefined });
    const { live } = cluster;
    cluster.open(scope);
    await untilKnown(cluster.error, clock, signal);
    const states = createLeaseStates(() => undefined);
    const deploy = createDeploy({
      ...{ ...cluster, kube, options, states, clock },
      ...{ chain: { mirror }, journal: nothingWritten, refreshes: new Map(), log: silentLog },
    });
    const allPods = await kube.list(kinds.pod, { signal });
    const room = freeRoom(await kube.list(kinds.node, { signal }), allPods);
    const pods = podsOnNodes(allPods);

    async function check({ id }: Lease): Promise<DryRunLease> {
      writes = [];
      const key = formatLeaseId(id);
      const name = leaseNamespace(id);
      const resource = live.manifest(name);
      const recorded = resource && readManifestResource(resource);
      const nothing = { lease: key, namespace: name, kept: [], changes: [], unplaced: [] };
      if (!recorded) {
        const has = live.namespace(name) ? `namespace ${name} and no Manifest resource` : "nothing of it";
        const needs = `the cluster has ${has}: its tenant has to send the manifest`;
        return { ...nothing, unplaced: [needs, ...withoutRoom(id)] };
      }
      const row = restoredRow(key, recorded);
      const lease = { key, id, name, lease: running.get(key), row, namespace: live.namespace(name), recorded };
      const failed = await deploy(lease, signal).then(
        (outcome) => (outcome.kind === "waiting" || outcome.kind === "stalled" ? [outcome.why] : []),
        (thrown) => [reasonOf(thrown)],
      );
      const { withheld = [], foreign = [] } = states.get(key) ?? {};
      const kept = [...live.contents(name)].flatMap(keptOf);
      return {
        ...{ lease: key, namespace: name, kept },
        changes: writes.filter((write) => !isMark(write)).map(changeOf),
        unplaced: [
          ...failed,
          ...withheld,
          ...foreign.map((each) => `${each}: no service of the manifest wants it, and it is left alone`),
          ...kept
            .filter(({ replicas, pods }) => pods < replicas)
            .map(({ workload, replicas, pods }) => `${workload}: ${pods} of ${replicas} replicas are on a node`),
          ...withoutRoom(id),
        ],
      };
    }

    /** Of a lease of which nothing runs. */
    function withoutRoom(id: LeaseId): string[] {
      const services = `${leaseNamespace(id)} `;
      const units = [...pods.keys()].some((each) => each.startsWith(services)) ? undefined : promisedUnits(mirror, id);
      const reason = units && takeRoom(room, units, options.overcommit);
      return reason === undefined ? [] : [`its replicas have no room now: ${reason}`];
    }

    function keptOf(object: LiveObject) {
      if (!isWorkload(object)) return [];
      const labels = shown(object.kind, object)?.metadata.labels ?? object.labels;
      if (labels[madeForLabel] === undefined) return [];
      const service = `${object.namespace} ${object.labels[serviceLabel]}`;
      return [{ workload: liveText(object), replicas: object.replicas ?? 1, pods: pods.get(service) ?? 0 }];
    }

    const leases: DryRunLease[] = [];
    // One after the other: what one of them gets, another does not.
    for (const [, lease] of [...running].sort(([a], [b]) => (a < b ? -1 : 1))) leases.push(await check(lease));
    return { height: listed.height, leases, strays: await findStrays(live, running, deps, signal) };
  } finally {
    for (const close of closing) await close();
  }
}

/** What the chain promised for each lease: the offer of our bid, or else what was ordered. */
async function readMirror(
  queries: DryRunDeps["queries"],
  leases: readonly Lease[],
  signal: AbortSignal,
): Promise<Chain["mirror"]> {
  const bids = new Map<string, Awaited<ReturnType<Queries["bid"]>>["value"]>();
  const deployments = new Map<string, Awaited<ReturnType<Queries["deployment"]>>["value"]>();
  await inParallel(leases, dryRunQueries, async ({ id }) => {
    bids.set(formatLeaseId(id), (await queries.bid(id, { signal })).value);
    const deployment = deploymentOf(id);
    deployments.set(formatDeploymentId(deployment), (await queries.deployment(deployment, { signal })).value);
  });
  const mirror: Pick<MirrorView, "bid" | "deployment"> = {
    bid: (id: BidId) => bids.get(formatLeaseId(id)),
    deployment: (id) => deployments.get(formatDeploymentId(id)),
  };
  return mirror as Chain["mirror"];
}

const nothingWritten = {
  read: { manifests: { get: () => undefined } },
  durable: async () => undefined,
} as unknown as Parameters<typeof createDeploy>[0]["journal"];

async function untilKnown(error: () => string | undefined, clock: Clock, signal: AbortSignal): Promise<void> {
  const endMs = clock.monotonicMs() + cachesSyncMs;
  for (let reason = error(); reason !== undefined; reason = error()) {
    if (clock.monotonicMs() > endMs) throw new ProviderError("AKP_CLUSTER_UNKNOWN", { reason });
    await sleep(clock, cachesCheckMs, signal);
  }
}

/** The labels by which a workload is kept say nothing new of it. */
function isMark({ kind, fields }: DryRunWrite): boolean {
  const marks = [madeForLabel, templateLabel, keptForLabel];
  return (
    isWorkload({ kind }) && fields.length > 0 && fields.every((field) => marks.some((label) => field.endsWith(label)))
  );
}

function changeOf({ does, kind, at, fields }: DryRunWrite): DryRunLease["changes"][number] {
  return { does, object: liveText({ kind, name: at.name }), fields };
}

/** Objects that say or seem to be of a lease, and belong to none that runs. */
async function findStrays(
  live: LiveObjects,
  running: ReadonlyMap<string, Lease>,
  { kube, queries, provider, options }: DryRunDeps,
  signal: AbortSignal,
): Promise<string[]> {
  const found = new Map<string, LeaseId | undefined>();
  for (const { name, labels } of live.namespaces()) found.set(`namespace ${name}`, leaseOfLabels(labels));
  for (const resource of live.manifests())
    found.set(`Manifest resource ${resource.metadata.name}`, readManifestResource(resource)?.lease);
  const selection = { namespace: options.manifestNamespace, labelSelector: managedSelector, signal };
  for (const kind of [kinds.providerHost, kinds.providerLeasedIp])
    for (const { metadata } of await kube.list(kind, selection))
      found.set(`${kind.kind} ${metadata.name}`, leaseOfLabels(metadata.labels));
  const strays: string[] = [];
  for (const [what, lease] of found) {
    if (!lease) strays.push(`${what} names no lease: left alone`);
    else if (lease.provider !== provider) strays.push(`${what} is of provider ${lease.provider}: left alone`);
    else if (!running.has(formatLeaseId(lease))) {
      const { value, height } = await queries.lease(lease, { signal });
      // Won since the list was read from the chain.
      if (runs(value)) continue;
      const is = value ? `${value.state}: \`run\` takes it away` : "not known to the chain: left alone";
      strays.push(`${what}: lease ${formatLeaseId(lease)} is ${is} (height ${height})`);
    }
  }
  return strays;
}
