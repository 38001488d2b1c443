/** Keeps the labels of the nodes as they should be. A node whose labels are right costs no request. */

import { fieldsOf } from "../../../kube/json-fields.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Applied, KubeObject, ManagedFields } from "../../../kube/kube.ts";
import { isCapabilityLabel, labelKeys } from "../../../kube/node-labels.ts";
import { isAppliedBy, type OwnedFields, ownedFields } from "../../../kube/owned-fields.ts";
import { done, type Outcome } from "../../../runtime/outcome.ts";
import { createQueue } from "../../../runtime/queue.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import type { NodeLabels } from "./wanted-labels.ts";

/** Nodes whose labels are written at once: a thousand nodes at start must not hold up the other calls. */
const inventoryLabelWrites = 4;

interface LabelWriterDeps extends OperatorDeps {
  /** What the node should carry; undefined while that cannot be said, and then nothing is written. */
  readonly wanted: (node: string) => NodeLabels | undefined;
  /** What it carries as far as we have heard; undefined when there is no such node. */
  readonly live: (node: string) => NodeLabels | undefined;
}

export function createLabelWriter({ kube, clock, random, log, wanted, live }: LabelWriterDeps) {
  let written = 0;
  let seized = 0;

  async function work(name: string, signal: AbortSignal): Promise<Outcome> {
    const [desired, heard] = [wanted(name), live(name)];
    if (!desired || !heard || !labelsDiffer(desired, heard)) return done();
    // Who owns a label stands on the server; it is asked only about nodes that have something to be done.
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

  /** With its uid: apply would create a node that was deleted meanwhile. */
  function applyLabels(
    { metadata }: KubeObject,
    labels: NodeLabels,
    owned: OwnedFields | undefined,
    signal: AbortSignal,
  ): Promise<Applied> {
    const { name, uid } = metadata;
    const listed = Object.keys(labels).length > 0 ? { labels } : {};
    const desired = { metadata: { name, ...(uid !== undefined && { uid }), ...listed } };
    return kube.apply(kinds.node, desired, { force: true, signal, ...(owned && { live: owned }) });
  }

  const queue = createQueue({ name: "labels", work, clock, random, log, concurrency: inventoryLabelWrites });
  return {
    look: (node: string) => void queue.add(node),
    queue,
    /** Nodes whose labels were written, and labels of another program that no longer held and were removed. */
    get counts() {
      return { written, seized };
    },
  };
}

// What must be written so that a node carries the wanted labels. Server-side apply removes a label that we stop listing
// only if nobody else owns it. One that another program wrote is therefore first seized: written with another value,
// by force, which makes it ours alone. Then it is no longer listed, and goes.

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

/** NVIDIA's label may be from NVIDIA's tools: seized only from a manager that also wrote labels of ours. */
function mayBeSeized(key: string, others: readonly ManagedFields[]): boolean {
  if (key !== labelKeys.nvidiaPresent) return true;
  const owners = others.filter((entry) => owns(entry, key));
  return owners.length > 0 && owners.every((entry) => owns(entry, labelKeys.node));
}

/** Every reader takes both for a no, and it must differ from what is there: the same value would only be shared. */
function seizingValue(live: string | undefined): string {
  return live === "0" ? "" : "0";
}

function owns({ fieldsV1 }: ManagedFields, key: string): boolean {
  const labels = fieldsOf(fieldsOf(fieldsOf(fieldsV1)["f:metadata"])["f:labels"]);
  return Object.hasOwn(labels, `f:${key}`);
}
