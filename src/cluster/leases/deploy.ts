/**
 * Applies what a lease wants, step by step, and takes away what it no longer wants. An object that is as it should be costs
 * nothing; one that was changed by hand, or is gone, is put back.
 */
import { isObjectRejected } from "../../kube/client/api-errors.ts";
import { conditionHolds, fieldsOf, recordsOf } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { ApplyOptions, KubeObject } from "../../kube/kube.ts";
import { leftAccount } from "../../kube/objects/credentials.ts";
import { managedSelector, namespaceLabel } from "../../kube/objects/lease-labels.ts";
import type { DesiredObject } from "../../kube/objects/lease-workload.ts";
import { leaseAddresses } from "../../kube/objects/leased-ip.ts";
import { manifestResource } from "../../kube/objects/manifest-resource.ts";
import { second } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { inParallel } from "../../runtime/in-parallel.ts";
import { done, type Outcome, recheck, stalled, waiting } from "../../runtime/outcome.ts";
import { addressesSeen, addressesWanted } from "../capacity/addresses/lease-addresses.ts";
import {
  type Adopted,
  type Adoption,
  createAdoption,
  isWorkload,
  leaseWrites,
  sortWorkloads,
} from "./adoption/adoption.ts";
import { hostsWanted } from "./declarations/hostnames.ts";
import { type LeaseStatus, shortList } from "./lease-states.ts";
import { awaitsOldPod, type LiveObject, liveText } from "./live-objects.ts";
import { type ObservedLease, type WantedWorkload, wantedOf } from "./observed-lease.ts";
import type { LeaseDeps } from "./watched-cluster.ts";

/** How long a new manifest waits for its leased addresses, so that containers start with them in their environment: MetalLB gives one within a second or two. */
export const leaseAddressWaitMs = 20 * second;
type DeployDeps = Omit<LeaseDeps, "chain" | "network"> & {
  readonly chain: Pick<LeaseDeps["chain"], "mirror">;
};

export function createDeploy(deps: DeployDeps) {
  const { chain, journal, states, refreshes, log } = deps;
  const adoption = createAdoption(deps);

  async function deploy(lease: ObservedLease, signal: AbortSignal): Promise<Outcome> {
    const { key, namespace } = lease;
    const wanted = wantedOf(lease, chain);
    if (!wanted) return wait(key, "chain", "neither the bid nor the deployment says what was promised");
    if (namespace?.deletingSinceMs !== undefined) {
      return wait(key, "cluster", "its namespace is being deleted, and is made again once it is gone");
    }
    const unknown = whyUnknown(wanted, deps);
    if (unknown !== undefined) {
      states.note(key, { state: "unknown", why: unknown });
      return waiting("cluster", unknown);
    }
    const refresh = refreshes.get(key);
    try {
      const state = await applyLease(lease, wanted, refresh !== undefined, { ...deps, adoption }, signal);
      if ("afterMs" in state) {
        states.note(key, { state: "deploying" });
        return recheck(state.afterMs);
      }
      await noteDeployed(lease, wanted);
      states.note(key, state);
      if (refresh) {
        const line = "refreshed: our newest pod templates";
        await journal.durable("lease refreshed", ({ history }) => history.add({ kind: "lease", subject: key, line }));
        log.info("refreshed pod templates", { lease: key });
        endRefresh(key, refresh.resolve);
      }
      return done();
    } catch (thrown) {
      states.tally.deploy.fail += 1;
      if (refresh && isObjectRejected(thrown)) {
        endRefresh(key, () => refresh.reject(thrown));
        return deploy(lease, signal);
      }
      if (isObjectRejected(thrown)) return rejected(lease, wanted, reasonOf(thrown), signal);
      states.note(key, { state: "deploying", why: reasonOf(thrown) });
      throw thrown;
    }
  }

  function endRefresh(key: string, end: () => void): void {
    refreshes.delete(key);
    end();
  }

  function wait(key: string, on: string, why: string): Outcome {
    states.note(key, { state: "deploying", why });
    return waiting(on, why);
  }

  async function noteDeployed({ key, row }: ObservedLease, { isNew, note }: WantedWorkload): Promise<void> {
    if (!isNew || !note) return;
    const { version } = note;
    const what = row?.deployed ? "updated" : "deployed";
    await journal.durable("manifest deployed", ({ manifests, history }) => {
      manifests.noteDeployed(key, version);
      history.add({ kind: "lease", subject: key, line: `${what}: manifest ${version}` });
    });
    states.tally.deploy.success += 1;
    log.info("manifest applied", { lease: key, version, what });
  }

  /** What ran before goes on; where nothing did, nothing is left of it. */
  async function rejected(
    lease: ObservedLease,
    { isNew, note }: WantedWorkload,
    reason: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { key } = lease;
    if (!isNew || !note) {
      const why = `the cluster no longer takes what runs: ${reason}`;
      states.note(key, { state: "refused", why });
      return stalled(why);
    }
    const { version } = note;
    await journal.durable("manifest rejected", ({ manifests, history }) => {
      manifests.noteRejection(key, version, reason);
      history.add({ kind: "lease", subject: key, line: `refused: manifest ${version}: ${reason}` });
    });
    log.info("cluster rejected manifest", { lease: key, version, reason });
    return deploy({ ...lease, row: journal.read.manifests.get(key) }, signal);
  }

  return deploy;
}

/** Why it cannot be known what this lease has of the kinds that it uses, or who has what it wants to have. */
function whyUnknown({ workload }: WantedWorkload, deps: DeployDeps): string | undefined {
  const { live, hostnames, addresses, objectsOf, options } = deps;
  const needsHosts = hostsWanted(workload, options.hosts).length > 0;
  const needsAddresses = addressesWanted(workload, options.addressSharing).length > 0;
  if (live.error !== undefined) {
    const objects = Object.values(objectsOf(workload)).flat();
    const used = new Set([...objects.map(({ kind }) => kind), ...(needsAddresses ? [kinds.configMap] : [])]);
    const error = live.errorOf(...used);
    if (error !== undefined) return error;
  }
  return (needsHosts ? hostnames.error : undefined) ?? (needsAddresses ? addresses.error : undefined);
}

/**
 * Nothing comes before what it needs. An update is tried as a whole before any of it is written, so that one which is
 * rejected changes nothing; the namespace is the same for every manifest, and without it nothing can be tried. The first one
 * changes nothing that runs: trying it would double the time until it does, and what a rejected one left is pruned.
 */
async function applyLease(
  lease: ObservedLease,
  { workload, note, isNew }: WantedWorkload,
  isRefresh: boolean,
  deps: DeployDeps & { readonly adoption: Adoption },
  signal: AbortSignal,
): Promise<LeaseStatus | { readonly afterMs: number }> {
  const { live, hostnames, addresses, options, states, objectsOf, adoption } = deps;
  const { key, id, name, row, recorded } = lease;
  const { namespace, policies, workloads, services, ...objects } = objectsOf(workload);
  const credentials = [...objects.credentials, ...leftAccounts(deps, lease, objects.credentials)];
  const hostsNeeded = hostsWanted(workload, options.hosts);
  const addressesNeeded = addressesWanted(workload, options.addressSharing);
  // No other lease may get them meanwhile.
  if (hostnames.error === undefined) hostnames.settle(id, hostsNeeded);
  if (isNew) states.note(key, { state: "deploying" });
  const isLeft = note?.version === "" && note.withdrawnAtMs === undefined;
  // What the Go provider wrote is read by it again, should it come back, and by its version restarts every pod.
  const isUntouched = isLeft && recorded?.version === "";
  const manifest = note && !isUntouched ? [manifestResource(workload, note, options)] : [];
  // The API server checks that the role exists when it is bound: the binding comes after, without a dry run.
  const bindings = credentials.filter(isBinding);
  const others = credentials.filter((object) => !isBinding(object));
  const adopted = await adopt(lease, [policies, credentials, workloads, services].flat(), deps, signal);
  const sorted = sortWorkloads(live, workloads, workload.group, adopted, { isLeft, isRefresh });
  const apply = (step: readonly DesiredObject[], dryRun = false) => applyStep(step, deps, { signal, dryRun });
  await apply([namespace]);
  if ((isNew && row?.deployed) || isRefresh) {
    await apply([manifest, policies, others, sorted.ours, services].flat(), true);
  }
  if (manifest.length > 0) await adoption.takeManifest(name, signal);
  await adoption.release(sorted.released, signal);
  for (const step of [manifest, policies, others, bindings]) await apply(step);
  // Without knowledge of the others a lease that needs none keeps what it had.
  const ports = addresses.error ? [] : await addresses.declare(id, addressesNeeded, signal);
  const seen = addressesSeen(live, name, addressesNeeded);
  const known = addressesNeeded.length > 0 ? [leaseAddresses(id, seen)] : [];
  await apply(known);
  // By port: the others of its endpoint are still to get an address.
  const withheldPorts = new Set(ports.map(({ wanted }) => wanted));
  const missing = addressesNeeded.filter((each) => !seen.has(each.endpoint) && !withheldPorts.has(each));
  const afterMs = isNew && !isLeft && missing.length > 0 ? addressWaitMs(lease, deps) : 0;
  if (afterMs > 0) return { afterMs };
  for (const step of [sorted.ours, services]) await apply(step);
  await adoption.scale(sorted, signal);
  await removeStuckPods(deps, workloads, signal);
  const hosts = hostnames.error ? [] : await hostnames.declare(id, hostsNeeded, signal);
  // Of a manifest that never came to run as a whole.
  if (!note && recorded?.version === row?.version) await removeManifestResource(deps, name, signal);
  const wanted = [policies, credentials, known, workloads, services].flat();
  const foreign = await prune(deps, name, wanted, signal, (object) => isLeft && isWorkload(object));
  const withheld = [
    ...hosts.map(({ wanted: { host }, ...each }) => ({ ...each, what: host })),
    ...ports.map(({ wanted: { endpoint, protocol, externalPort }, ...each }) => {
      return { ...each, what: `${endpoint} ${protocol} ${externalPort}` };
    }),
  ].map(({ what, reason, isOwners }) => ({ text: `${what}: ${reason}`, isOwners }));
  const lists = {
    kept: sorted.kept.map(({ desired }) => desired.object.metadata.name),
    withheld: withheld.map(({ text }) => text),
    heldByOthers: withheld.filter(({ isOwners }) => !isOwners).map(({ text }) => text),
    addressless: [...new Set(missing.map(({ endpoint }) => endpoint))],
    foreign,
  };
  const shown = Object.entries(lists).filter(([, texts]) => texts.length > 0);
  return { ...stateOf(lease), ...Object.fromEntries(shown.map(([what, texts]) => [what, shortList(texts)])) };
}

/** Within a step no object needs another. */
async function applyStep(
  step: readonly DesiredObject[],
  { kube, live }: Pick<DeployDeps, "kube" | "live">,
  options: Pick<ApplyOptions, "signal" | "dryRun">,
): Promise<void> {
  await inParallel(step, leaseWrites, ({ kind, object }) =>
    kube.apply(kind, object, { ...options, force: true, live: live.owned(kind, object.metadata) }),
  );
}

/** For a while only: a pool may be exhausted, or no load balancer assigns them. A Service that gets its address wakes the lease. */
function addressWaitMs({ row }: ObservedLease, { journal }: DeployDeps): number {
  const agoMs = row ? journal.nowMs() - row.receivedAtMs : -1;
  // A clock that was set back says nothing.
  return agoMs < 0 ? 0 : leaseAddressWaitMs - agoMs;
}

async function adopt(
  lease: ObservedLease,
  wanted: readonly DesiredObject[],
  { adoption, journal, log }: DeployDeps & { readonly adoption: Adoption },
  signal: AbortSignal,
): Promise<Adopted> {
  const { key, name } = lease;
  const adopted = await adoption.take(lease, wanted, signal);
  const { moved, made } = adopted;
  if (moved === 0) return adopted;
  const kept = [...made.values()].filter(({ template }) => template === undefined).length;
  const line = `taken over: ${moved} objects of the provider before us, of these ${kept} workloads as they run`;
  await journal.durable("lease taken over", ({ history }) => history.add({ kind: "lease", subject: key, line }));
  log.info("took over objects of the provider before us", { lease: key, namespace: name, moved, kept });
  return adopted;
}

function stateOf({ row }: ObservedLease): LeaseStatus {
  if (row?.withdrawnAtMs !== undefined) return { state: "withdrawn" };
  return row?.refusal === undefined ? { state: "deployed" } : { state: "refused", why: row.refusal };
}

function isBinding({ kind }: DesiredObject): boolean {
  return kind === kinds.roleBinding;
}

// What a lease no longer wants: objects, its Manifest resource, and pods that block an update.

/**
 * Returns what has our label, is not wanted, and was made by another program or is spared: it is left alone. Volume claims are not
 * looked at: they hold a tenant's data.
 */
async function prune(
  { kube, live, log }: Pick<LeaseDeps, "kube" | "live" | "log">,
  namespace: string,
  wanted: readonly DesiredObject[],
  signal: AbortSignal,
  isSpared: (object: LiveObject) => boolean,
): Promise<string[]> {
  const names = new Set(wanted.map(({ kind, object }) => liveText({ kind, name: object.metadata.name })));
  const foreign: string[] = [];
  for (const object of [...live.contents(namespace)]) {
    const text = liveText(object);
    if (names.has(text) || object.deletingSinceMs !== undefined || isOfOperator(object)) continue;
    if (!object.isOurs || object.labels[namespaceLabel] !== namespace || isSpared(object)) {
      foreign.push(text);
      continue;
    }
    await kube.delete(object.kind, object, { uid: object.uid, signal });
    log.info("removed object that its lease no longer wants", { namespace, object: text });
  }
  return foreign.sort();
}

/** The Services of leased addresses carry the network's label too, and belong to the IP operator. */
function isOfOperator({ kind, labels }: LiveObject): boolean {
  return kind === kinds.service && labels["akash.network/service-target"] !== undefined;
}

/** Service accounts that pods of running workloads still use, although no service of the manifest wants them. */
function leftAccounts(
  { live }: Pick<LeaseDeps, "live">,
  { id, name }: ObservedLease,
  credentials: readonly DesiredObject[],
): DesiredObject[] {
  const accounts = credentials.filter(({ kind }) => kind === kinds.serviceAccount);
  const wanted = new Set(accounts.map(({ object }) => object.metadata.name));
  const left = new Set<string>();
  for (const { name: service, namespace, isOurs, isRolling, runsAs } of live.workloads(name)) {
    if (isOurs && runsAs !== undefined) left.add(runsAs);
    if (isOurs && isRolling && live.get(kinds.serviceAccount, { namespace, name: service })) left.add(service);
  }
  return [...left].filter((each) => !wanted.has(each)).map((each) => leftAccount(id, each));
}

/** Lists from the API server: the cache may not be synced when a lease ends. */
export async function removeManifestResource(
  { kube, options }: Pick<LeaseDeps, "kube" | "options">,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const at = { namespace: options.manifestNamespace, name };
  const { uid } = (await kube.get(kinds.manifest, at, { signal }))?.metadata ?? {};
  if (uid !== undefined) await kube.delete(kinds.manifest, at, { uid, signal });
}

/**
 * A stateful set waits for each of its pods to be ready before it replaces any, also for one of an older template that never will
 * be. So that pod is taken away by what the server says now, one at a time as the set would do it. Its volumes stay.
 */
async function removeStuckPods(
  { kube, live, log }: Pick<LeaseDeps, "kube" | "live" | "log">,
  wanted: readonly DesiredObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const { kind, object } of wanted) {
    const { namespace, name } = object.metadata;
    if (kind !== kinds.statefulSet || !live.get(kind, object.metadata)?.awaitsOldPod) continue;
    const set = await kube.get(kind, object.metadata, { signal });
    if (!set || !awaitsOldPod(set)) continue;
    const pods = await kube.list(kinds.pod, { namespace, labelSelector: managedSelector, signal });
    const own = pods.filter((pod) => isOf(set, pod));
    if (own.some(({ metadata }) => metadata.deletionTimestamp !== undefined)) continue;
    const { updateRevision } = fieldsOf(set["status"]);
    const stuck = own.find((pod) => !isReady(pod) && pod.metadata.labels?.[revisionLabel] !== updateRevision);
    if (stuck?.metadata.uid === undefined) continue;
    await kube.delete(kinds.pod, stuck.metadata, { uid: stuck.metadata.uid, signal });
    log.info("removed pod of an older template that never became ready", { namespace, set: name });
  }
}

const revisionLabel = "controller-revision-hash";

function isOf({ metadata: { uid } }: KubeObject, pod: KubeObject): boolean {
  return recordsOf(fieldsOf(pod.metadata)["ownerReferences"]).some((owner) => owner["uid"] === uid);
}

function isReady(pod: KubeObject): boolean {
  return conditionHolds(fieldsOf(pod["status"])["conditions"], "Ready");
}
