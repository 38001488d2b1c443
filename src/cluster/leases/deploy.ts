/** Brings what a lease wants to the cluster, in order, and takes away what it no longer wants. */
import type { Chain } from "../../chain/chain.ts";
import type { Journal } from "../../journal/journal.ts";
import { kinds } from "../../kube/kinds.ts";
import type { ApplyOptions, Kube } from "../../kube/kube.ts";
import { namespaceLabel } from "../../kube/objects/lease-labels.ts";
import type { DesiredObject, LeaseObjects, LeaseWorkload } from "../../kube/objects/lease-workload.ts";
import { manifestResource } from "../../kube/objects/manifest-resource.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { inParallel } from "../../runtime/in-parallel.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, stalled, waiting } from "../../runtime/outcome.ts";
import type { LeaseStates } from "./lease-states.ts";
import { type LeaseTruth, type Wanted, wantedOf } from "./lease-truth.ts";
import { type LiveObject, type LiveObjects, liveText } from "./live-objects.ts";
import { removeManifestResource } from "./teardown.ts";

export interface DeployDeps {
  readonly chain: Pick<Chain, "mirror">;
  readonly journal: Pick<Journal, "read" | "durable">;
  readonly kube: Pick<Kube, "apply" | "delete">;
  readonly live: LiveObjects;
  readonly states: LeaseStates;
  readonly objectsOf: (workload: LeaseWorkload) => LeaseObjects;
  readonly manifestNamespace: string;
  readonly log: Log;
}

export function createDeploy(deps: DeployDeps) {
  const { chain, journal, kube, live, states, objectsOf, manifestNamespace, log } = deps;

  async function deploy(truth: LeaseTruth, signal: AbortSignal): Promise<Outcome> {
    const { key, namespace } = truth;
    const wanted = wantedOf(truth, chain);
    if (!wanted) return waiting("chain", "neither the bid nor the deployment says what was promised");
    if (namespace?.deletingSinceMs !== undefined) {
      const why = "somebody has deleted its namespace, which is made again once it is gone";
      states.note(key, { state: "deploying", why });
      return waiting("cluster", why);
    }
    const objects = objectsOf(wanted.workload);
    try {
      await bring(truth, wanted, objects, signal);
    } catch (thrown) {
      if (!isForGood(thrown)) {
        states.note(key, { state: "deploying", why: reasonOf(thrown) });
        throw thrown;
      }
      return refused(truth, wanted, reasonOf(thrown), signal);
    }
    const foreign = await prune(truth, wanted, objects, signal);
    await settle(truth, wanted);
    states.note(key, { ...stateOf(truth), ...(foreign.length > 0 && { foreign }) });
    return done();
  }

  /**
   * Nothing comes before what it needs. A manifest that is new to the server is tried as a whole before any of it is
   * written; the namespace is the same for every manifest, and without it nothing can be tried.
   */
  async function bring(
    { key, row }: LeaseTruth,
    { workload, note, isNew }: Wanted,
    { namespace, policies, credentials, workloads, services }: LeaseObjects,
    signal: AbortSignal,
  ): Promise<void> {
    if (isNew && row?.deployed === undefined) states.note(key, { state: "deploying" });
    const manifest = note ? [manifestResource(workload, note, { manifestNamespace })] : [];
    const steps = [manifest, policies, credentials, workloads, services];
    await apply([namespace], { signal });
    if (isNew) await apply(steps.flat(), { signal, dryRun: true });
    for (const step of steps) await apply(step, { signal });
  }

  async function apply(
    step: readonly DesiredObject[],
    options: Pick<ApplyOptions, "signal" | "dryRun">,
  ): Promise<void> {
    await inParallel(step, limits.leaseWrites, ({ kind, object }) =>
      kube.apply(kind, object, { ...options, force: true, live: live.owned(kind, object.metadata) }),
    );
  }

  /** What is ours and no longer wanted. Volume claims are not looked at: they hold a tenant's data. */
  async function prune(
    { name, recorded, row }: LeaseTruth,
    { note }: Wanted,
    { policies, credentials, workloads, services }: LeaseObjects,
    signal: AbortSignal,
  ): Promise<string[]> {
    // Of a manifest that never came to run as a whole.
    if (!note && recorded?.version === row?.version) await removeManifestResource(deps, name, signal);
    const wanted = new Set([...policies, ...credentials, ...workloads, ...services].map(textOf));
    const foreign: string[] = [];
    for (const object of live.contents(name)) {
      if (wanted.has(liveText(object)) || object.deletingSinceMs !== undefined) continue;
      if (!isPrunable(object, name)) {
        foreign.push(liveText(object));
        continue;
      }
      const { kind, uid } = object;
      await kube.delete(kind, object, { uid, signal });
      log.info("removed an object that its lease no longer wants", { namespace: name, object: liveText(object) });
    }
    return foreign;
  }

  /** Once for every manifest. */
  async function settle({ key, row }: LeaseTruth, { isNew, note }: Wanted): Promise<void> {
    if (!isNew || !note) return;
    const line = row?.deployed ? "updated" : "deployed";
    await journal.durable("manifest deployed", ({ manifests, history }) => {
      manifests.noteDeployed(key, note.version);
      history.add({ kind: "lease", subject: key, line: `${line}, manifest ${note.version.slice(0, 12)}` });
    });
    log.info("brought the manifest of a lease to the cluster", { lease: key, version: note.version, as: line });
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
      states.note(key, { state: "refused", why: reason });
      return stalled(`the cluster no longer takes what runs: ${reason}`);
    }
    await journal.durable("manifest refused", ({ manifests, history }) => {
      manifests.noteRefusal(key, note.version, reason);
      history.add({ kind: "lease", subject: key, line: `manifest ${note.version.slice(0, 12)} refused: ${reason}` });
    });
    log.info("the cluster refused the manifest of a lease", { lease: key, version: note.version, reason });
    return deploy({ ...truth, row: journal.read.manifests.get(key) }, signal);
  }

  function stateOf({ row }: LeaseTruth) {
    if (row?.withdrawnAtMs !== undefined) return { state: "withdrawn" } as const;
    if (row?.refusal !== undefined) return { state: "refused", why: row.refusal } as const;
    return { state: "deployed" } as const;
  }

  return deploy;
}

function textOf({ kind, object }: DesiredObject): string {
  return liveText({ kind, name: object.metadata.name });
}

/** Asking again will not help until somebody has changed the object. */
function isForGood(thrown: unknown): boolean {
  return ProviderError.is(thrown, "AKP_KUBE_REFUSED");
}

/** The Services of leased addresses have our labels too, and belong to the IP operator. */
function isPrunable({ isOurs, kind, labels }: LiveObject, name: string): boolean {
  if (kind === kinds.service && labels["akash.network/service-target"] !== undefined) return false;
  return isOurs && labels[namespaceLabel] === name;
}
