/**
 * Brings what a lease wants to the cluster, step by step, and takes away what it no longer wants. An object that is as it
 * should be costs nothing; one that was changed by hand, or is gone, is put back.
 */
import type { Chain } from "../../chain/chain.ts";
import type { Journal } from "../../journal/journal.ts";
import { isObjectRejected } from "../../kube/client/refusal.ts";
import { kinds } from "../../kube/kinds.ts";
import type { ApplyOptions, Kube } from "../../kube/kube.ts";
import { leftAccount } from "../../kube/objects/credentials.ts";
import { leaseAddresses } from "../../kube/objects/lease-addresses.ts";
import { namespaceLabel } from "../../kube/objects/lease-labels.ts";
import type { DesiredObject, LeaseObjects, LeaseWorkload } from "../../kube/objects/lease-workload.ts";
import { manifestResource } from "../../kube/objects/manifest-resource.ts";
import { second } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { inParallel } from "../../runtime/in-parallel.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck, stalled, waiting } from "../../runtime/outcome.ts";
import {
  type AddressSharing,
  type AddressWanted,
  addressesSeen,
  addressesWanted,
} from "../capacity/addresses/lease-addresses.ts";
import { type Adopted, createAdoption, isWorkload, leaseWrites } from "./adoption/adoption.ts";
import type { LeasedAddresses } from "./declarations/leased-addresses.ts";
import type { Hostnames } from "./hostnames/hostnames.ts";
import { hostsWanted, type StaticHosts } from "./hostnames/hosts-wanted.ts";
import type { LeaseState, LeaseStates } from "./lease-states.ts";
import type { LeaseTally } from "./lease-tally.ts";
import { type LeaseTruth, type Wanted, wantedOf } from "./lease-truth.ts";
import { type LiveObject, type LiveObjects, liveText } from "./live-objects.ts";
import { removeManifestResource } from "./teardown.ts";
import { unstick } from "./unstick.ts";

/** How long a new manifest waits for its leased addresses, so that containers start with them in their environment: MetalLB gives one within a second or two. */
export const leaseAddressWaitMs = 20 * second;
/** What one lease does not have, or has and should not, that is told: enough to see what is wrong. */
export const leaseMissingTold = 20;

export interface DeployDeps {
  readonly chain: Pick<Chain, "mirror">;
  readonly journal: Pick<Journal, "read" | "durable" | "nowMs">;
  readonly kube: Pick<Kube, "apply" | "delete" | "get" | "list" | "patch" | "fieldManager">;
  readonly live: LiveObjects;
  readonly hostnames: Pick<Hostnames, "settle" | "declare" | "trouble">;
  readonly addresses: Pick<LeasedAddresses, "declare" | "trouble">;
  readonly staticHosts: StaticHosts;
  readonly addressSharing: AddressSharing;
  readonly states: LeaseStates;
  readonly tally: LeaseTally;
  readonly refreshes: Refreshes;
  readonly objectsOf: (workload: LeaseWorkload) => LeaseObjects;
  readonly manifestNamespace: string;
  readonly log: Log;
}

/** Leases whose workloads shall have our newest pod templates, each with the promise that its caller awaits. */
export type Refreshes = Map<string, PromiseWithResolvers<void>>;

export function createDeploy(deps: DeployDeps) {
  const { chain, journal, kube, live, hostnames, addresses, staticHosts, addressSharing } = deps;
  const { states, tally, refreshes, objectsOf, manifestNamespace, log } = deps;
  const adoption = createAdoption(deps);

  async function deploy(truth: LeaseTruth, signal: AbortSignal): Promise<Outcome> {
    const { key, namespace } = truth;
    const wanted = wantedOf(truth, chain);
    if (!wanted) return wait(key, "chain", "neither the bid nor the deployment says what was promised");
    if (namespace?.deletingSinceMs !== undefined) {
      return wait(key, "cluster", "somebody has deleted its namespace, which is made again once it is gone");
    }
    const unlisted = unlistedOf(wanted);
    if (unlisted !== undefined) {
      states.note(key, { state: "unknown", why: unlisted });
      return waiting("cluster", unlisted);
    }
    const refresh = refreshes.get(key);
    try {
      const state = await bring(truth, wanted, refresh !== undefined, signal);
      if ("afterMs" in state) {
        states.note(key, { state: "deploying" });
        return recheck(state.afterMs);
      }
      await settle(truth, wanted);
      states.note(key, state);
      if (refresh) {
        const line = "refreshed: our newest pod templates";
        await journal.durable("lease refreshed", ({ history }) => history.add({ kind: "lease", subject: key, line }));
        log.info("refreshed pod templates", { lease: key });
        endRefresh(key, refresh.resolve);
      }
      return done();
    } catch (thrown) {
      tally.deploy.fail += 1;
      if (refresh && isObjectRejected(thrown)) {
        endRefresh(key, () => refresh.reject(thrown));
        return deploy(truth, signal);
      }
      if (isObjectRejected(thrown)) return refused(truth, wanted, reasonOf(thrown), signal);
      states.note(key, { state: "deploying", why: reasonOf(thrown) });
      throw thrown;
    }
  }

  function endRefresh(key: string, end: () => void): void {
    refreshes.delete(key);
    end();
  }

  /** Why it cannot be known what this lease has of the kinds that it uses, or who has what it wants to have. */
  function unlistedOf({ workload }: Wanted): string | undefined {
    const needsHosts = hostsWanted(workload, staticHosts).length > 0;
    const needsAddresses = addressesWanted(workload, addressSharing).length > 0;
    if (live.trouble !== undefined) {
      const objects = Object.values(objectsOf(workload)).flat();
      const used = new Set([...objects.map(({ kind }) => kind), ...(needsAddresses ? [kinds.configMap] : [])]);
      const trouble = live.troubleOf(...used);
      if (trouble !== undefined) return trouble;
    }
    return (needsHosts ? hostnames.trouble : undefined) ?? (needsAddresses ? addresses.trouble : undefined);
  }

  function wait(key: string, on: string, why: string): Outcome {
    states.note(key, { state: "deploying", why });
    return waiting(on, why);
  }

  /**
   * Nothing comes before what it needs. An update is tried as a whole before any of it is written, so that one which is
   * refused changes nothing; the namespace is the same for every manifest, and without it nothing can be tried. The
   * first one changes nothing that runs: trying it would double the time until it does, and what a refused one left is
   * pruned.
   */
  async function bring(
    truth: LeaseTruth,
    { workload, note, isNew }: Wanted,
    isRefresh: boolean,
    signal: AbortSignal,
  ): Promise<LeaseState | Hold> {
    const { key, id, name, row } = truth;
    const { namespace, policies, workloads, services, ...objects } = objectsOf(workload);
    const credentials = [...objects.credentials, ...leftAccounts(truth, objects.credentials)];
    const hostsNeeded = hostsWanted(workload, staticHosts);
    const addressesNeeded = addressesWanted(workload, addressSharing);
    // Nobody else may get them while it is on its way.
    if (hostnames.trouble === undefined) hostnames.settle(id, hostsNeeded);
    if (isNew) states.note(key, { state: "deploying" });
    const isLeft = note?.version === "" && note.withdrawnAtMs === undefined;
    // What the network's provider wrote is read by it again, should it come back, and by its version restarts every pod.
    const isUntouched = isLeft && truth.recorded?.version === "";
    const manifest = note && !isUntouched ? [manifestResource(workload, note, { manifestNamespace })] : [];
    // The server looks for the role when it is asked to bind it, so a binding comes after, and cannot be tried before.
    const bindings = credentials.filter(isBinding);
    const others = credentials.filter((object) => !isBinding(object));
    const adopted = await adopt(truth, [policies, credentials, workloads, services].flat(), signal);
    const sorted = adoption.sort(workloads, workload.group, adopted, { isLeft, isRefresh });
    const { ours, released, kept } = sorted;
    await apply([namespace], { signal });
    if ((isNew && row?.deployed) || isRefresh) {
      await apply([manifest, policies, others, ours, services].flat(), { signal, dryRun: true });
    }
    if (manifest.length > 0) await adoption.takeManifest(name, signal);
    await adoption.release(released, signal);
    for (const step of [manifest, policies, others, bindings]) await apply(step, { signal });
    // Without knowledge of the others a lease that needs none keeps what it had.
    const ports = addresses.trouble ? noneWithheld : await addresses.declare(id, addressesNeeded, signal);
    const seen = addressesSeen(live, name, addressesNeeded);
    const known = addressesNeeded.length > 0 ? [leaseAddresses(id, seen)] : [];
    await apply(known, { signal });
    // By port: the others of its endpoint are still to get an address.
    const isHeld = ({ endpoint, protocol, externalPort }: AddressWanted) =>
      ports.withheld.some(
        (held) => held.endpoint === endpoint && held.protocol === protocol && held.externalPort === externalPort,
      );
    const missing = addressesNeeded.filter((each) => !seen.has(each.endpoint) && !isHeld(each));
    const afterMs = isNew && !isLeft && missing.length > 0 ? holdMs(truth) : 0;
    if (afterMs > 0) return { afterMs };
    for (const step of [ours, services]) await apply(step, { signal });
    await adoption.scale(sorted, signal);
    await unstick(deps, workloads, signal);
    const hosts = hostnames.trouble ? noneWithheld : await hostnames.declare(id, hostsNeeded, signal);
    // Of a manifest that never came to run as a whole.
    if (!note && truth.recorded?.version === row?.version) await removeManifestResource(deps, name, signal);
    const wanted = [policies, credentials, known, workloads, services].flat();
    const foreign = await prune(deps, name, wanted, signal, (object) => isLeft && isWorkload(object));
    const withheld = [
      ...hosts.withheld.map((each) => ({ ...each, what: each.host })),
      ...ports.withheld.map((each) => ({ ...each, what: `${each.endpoint} ${each.protocol} ${each.externalPort}` })),
    ];
    const textOf = ({ what, reason }: (typeof withheld)[number]) => `${what}: ${reason}`;
    const heldByOthers = withheld.filter(({ isOwners }) => !isOwners);
    return {
      ...stateOf(truth),
      ...(kept.length > 0 && { kept: firstOf(kept.map(({ desired }) => desired.object.metadata.name)) }),
      ...(withheld.length > 0 && { withheld: firstOf(withheld.map(textOf)) }),
      ...(heldByOthers.length > 0 && { heldByOthers: firstOf(heldByOthers.map(textOf)) }),
      ...(missing.length > 0 && { addressless: firstOf([...new Set(missing.map(({ endpoint }) => endpoint))]) }),
      ...(foreign.length > 0 && { foreign: firstOf(foreign) }),
    };
  }

  /**
   * How much longer a new manifest waits for its addresses, so that its containers start with them. For a while only: a pool may
   * have none left, or nobody gives them. A Service that gets its address wakes the lease.
   */
  function holdMs({ row }: LeaseTruth): number {
    const agoMs = row ? journal.nowMs() - row.receivedAtMs : -1;
    // A clock that was set back says nothing.
    return agoMs < 0 ? 0 : leaseAddressWaitMs - agoMs;
  }

  async function adopt(truth: LeaseTruth, wanted: readonly DesiredObject[], signal: AbortSignal): Promise<Adopted> {
    const { key, name } = truth;
    const adopted = await adoption.take(truth, wanted, signal);
    const { moved, made } = adopted;
    if (moved === 0) return adopted;
    const kept = [...made.values()].filter(({ template }) => template === undefined).length;
    const line = `taken over: ${moved} objects of the provider before us, of these ${kept} workloads as they run`;
    await journal.durable("lease taken over", ({ history }) => history.add({ kind: "lease", subject: key, line }));
    log.info("took over objects of the provider before us", { lease: key, namespace: name, moved, kept });
    return adopted;
  }

  /** Service accounts that pods of running workloads still use, although no service of the manifest wants them. */
  function leftAccounts({ id, name }: LeaseTruth, credentials: readonly DesiredObject[]): DesiredObject[] {
    const isAccount = ({ kind }: DesiredObject) => kind === kinds.serviceAccount;
    const wanted = new Set(credentials.filter(isAccount).map(({ object }) => object.metadata.name));
    const left = new Set<string>();
    for (const { name: service, namespace, isOurs, isRolling, runsAs } of live.workloads(name)) {
      if (isOurs && runsAs !== undefined) left.add(runsAs);
      if (isOurs && isRolling && live.get(kinds.serviceAccount, { namespace, name: service })) left.add(service);
    }
    return [...left].filter((each) => !wanted.has(each)).map((each) => leftAccount(id, each));
  }

  /** Within a step nobody needs another. */
  async function apply(
    step: readonly DesiredObject[],
    options: Pick<ApplyOptions, "signal" | "dryRun">,
  ): Promise<void> {
    await inParallel(step, leaseWrites, ({ kind, object }) =>
      kube.apply(kind, object, { ...options, force: true, live: live.owned(kind, object.metadata) }),
    );
  }

  /** Once for every manifest. */
  async function settle({ key, row }: LeaseTruth, { isNew, note }: Wanted): Promise<void> {
    if (!isNew || !note) return;
    const { version } = note;
    const what = row?.deployed ? "updated" : "deployed";
    await journal.durable("manifest deployed", ({ manifests, history }) => {
      manifests.noteDeployed(key, version);
      history.add({ kind: "lease", subject: key, line: `${what}: manifest ${version}` });
    });
    tally.deploy.success += 1;
    log.info("brought manifest to the cluster", { lease: key, version, what });
  }

  /** What ran before goes on; where nothing did, nothing is left of it. */
  async function refused(
    truth: LeaseTruth,
    { isNew, note }: Wanted,
    reason: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { key } = truth;
    if (!isNew || !note) {
      const why = `the cluster no longer takes what runs: ${reason}`;
      states.note(key, { state: "refused", why });
      return stalled(why);
    }
    const { version } = note;
    await journal.durable("manifest refused", ({ manifests, history }) => {
      manifests.noteRefusal(key, version, reason);
      history.add({ kind: "lease", subject: key, line: `refused: manifest ${version}: ${reason}` });
    });
    log.info("cluster refused manifest", { lease: key, version, reason });
    return deploy({ ...truth, row: journal.read.manifests.get(key) }, signal);
  }

  return deploy;
}

const noneWithheld = { withheld: [] };

/** Nothing is wrong; it is looked at again by then. */
interface Hold {
  readonly afterMs: number;
}

function stateOf({ row }: LeaseTruth): LeaseState {
  if (row?.withdrawnAtMs !== undefined) return { state: "withdrawn" };
  return row?.refusal === undefined ? { state: "deployed" } : { state: "refused", why: row.refusal };
}

/** A tenant may want a thousand names that another lease of his has; what is told of a lease is read by people. */
function firstOf(texts: readonly string[]): readonly string[] {
  const more = texts.length - leaseMissingTold;
  return more > 0 ? [...texts.slice(0, leaseMissingTold), `and ${more} more`] : texts;
}

function isBinding({ kind }: DesiredObject): boolean {
  return kind === kinds.roleBinding;
}

/** Takes away what is ours in a lease's namespace and no longer wanted. Volume claims are not looked at: they hold a tenant's data. */
interface PruneDeps {
  readonly kube: Pick<Kube, "delete">;
  readonly live: LiveObjects;
  readonly log: Log;
}

/** Returns what has our label, is not wanted, and was made by somebody else or is spared: it is left alone. */
async function prune(
  { kube, live, log }: PruneDeps,
  namespace: string,
  wanted: readonly DesiredObject[],
  signal: AbortSignal,
  isSpared: (object: LiveObject) => boolean = () => false,
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
