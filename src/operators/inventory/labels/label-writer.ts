/** Writes node labels. A node whose labels are as desired costs no request. */
import { fieldsOf } from "../../../kube/json-fields.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { KubeObject, ManagedFields } from "../../../kube/kube.ts";
import { isCapabilityLabel, labelKeys } from "../../../kube/node-labels.ts";
import { isAppliedBy, type OwnedFields, ownedFields } from "../../../kube/owned-fields.ts";
import { done, type Outcome } from "../../../runtime/outcome.ts";
import { createQueue } from "../../../runtime/queue.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import type { NodeLabels } from "./wanted-labels.ts";

/** A thousand nodes at start must not delay other requests. */
const inventoryLabelWrites = 4;

interface LabelWriterDeps extends OperatorDeps {
  /** Undefined while unknown; then nothing is written. */
  readonly wanted: (node: string) => NodeLabels | undefined;
  /** From the cache; undefined when there is no such node. */
  readonly live: (node: string) => NodeLabels | undefined;
}

export function createLabelWriter({ wanted, live, ...deps }: LabelWriterDeps) {
  const { kube, log } = deps;
  let written = 0;
  let seized = 0;

  async function work(name: string, signal: AbortSignal): Promise<Outcome> {
    const [desired, cached] = [wanted(name), live(name)];
    if (!desired || !cached || !labelsDiffer(desired, cached)) return done();
    // The cache has no managed fields.
    const node = await kube.get(kinds.node, { name }, { signal });
    if (!node) return done();
    const { seize, apply } = planLabels(desired, node, kube.fieldManager);
    if (!apply) return done();
    let owned: OwnedFields | undefined = ownedFields(node, kube.fieldManager);
    if (Object.keys(seize).length > 0) {
      const { object } = await applyLabels(node, { ...desired, ...seize }, owned, signal);
      owned = object && ownedFields(object, kube.fieldManager);
    }
    await applyLabels(node, desired, owned, signal);
    written += 1;
    seized += Object.keys(seize).length;
    log.info("wrote node labels", { node: name, labels: Object.keys(desired).length });
    return done();
  }

  function applyLabels(node: KubeObject, labels: NodeLabels, live: OwnedFields | undefined, signal: AbortSignal) {
    const { name, uid } = node.metadata;
    const listed = Object.keys(labels).length > 0 && { labels };
    // Without the uid, apply would create a node that was deleted meanwhile.
    const desired = { metadata: { name, ...(uid !== undefined && { uid }), ...listed } };
    return kube.apply(kinds.node, desired, { force: true, signal, ...(live && { live }) });
  }

  const queue = createQueue({ ...deps, name: "labels", work, concurrency: inventoryLabelWrites });
  return {
    add: (node: string) => void queue.add(node),
    queue,
    /** Nodes written, and stale labels of other programs that were removed. */
    get counts() {
      return { written, seized };
    },
  };
}

// Server-side apply removes a label that is no longer listed only if we alone own it. One of another program is therefore
// seized first: written by force with another value. Then it is no longer listed, and goes.

export function labelsDiffer(wanted: NodeLabels, live: NodeLabels): boolean {
  return isMissing(wanted, live) || staleKeys(wanted, live).length > 0;
}

export function planLabels(wanted: NodeLabels, node: KubeObject, fieldManager: string) {
  const { labels = {}, managedFields = [] } = node.metadata;
  const ours = managedFields.filter((entry) => isAppliedBy(entry, fieldManager));
  const others = managedFields.filter((entry) => !isAppliedBy(entry, fieldManager));
  const isOwned = (key: string) => ours.some((entry) => owns(entry, key));
  const isOwnedAlone = (key: string) => isOwned(key) && !others.some((entry) => owns(entry, key));
  const stale = staleKeys(wanted, labels);
  const seized = stale.filter((key) => !isOwnedAlone(key) && mayBeSeized(key, others));
  return {
    seize: Object.fromEntries(seized.map((key) => [key, seizingValue(labels[key])])),
    apply: isMissing(wanted, labels) || seized.length > 0 || stale.some(isOwned),
  };
}

function isMissing(wanted: NodeLabels, live: NodeLabels): boolean {
  return Object.entries(wanted).some(([key, value]) => live[key] !== value);
}

function staleKeys(wanted: NodeLabels, live: NodeLabels): string[] {
  return Object.keys(live).filter((key) => isCapabilityLabel(key) && !Object.hasOwn(wanted, key));
}

/** NVIDIA's label may be from NVIDIA's tools: it is seized only from a manager that also owns labels of ours. */
function mayBeSeized(key: string, others: readonly ManagedFields[]): boolean {
  if (key !== labelKeys.nvidiaPresent) return true;
  const owners = others.filter((entry) => owns(entry, key));
  return owners.length > 0 && owners.every((entry) => owns(entry, labelKeys.node));
}

/** False to every reader, and another value than the live one, which would only be shared. */
function seizingValue(live: string | undefined): string {
  return live === "0" ? "" : "0";
}

function owns({ fieldsV1 }: ManagedFields, key: string): boolean {
  const labels = fieldsOf(fieldsOf(fieldsOf(fieldsV1)["f:metadata"])["f:labels"]);
  return Object.hasOwn(labels, `f:${key}`);
}
