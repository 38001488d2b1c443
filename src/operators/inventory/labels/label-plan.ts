/**
 * What must be written so that a node carries the wanted labels. Server-side apply removes a label that we stop listing
 * only if nobody else owns it. One that another program wrote is therefore first seized: written with another value,
 * by force, which makes it ours alone. Then it is no longer listed, and goes.
 */
import { fieldsOf } from "../../../kube/json-fields.ts";
import type { KubeObject, ManagedFields } from "../../../kube/kube.ts";
import { isCapabilityLabel, labelKeys } from "../../../kube/node-labels.ts";
import { isAppliedBy } from "../../../kube/owned-fields.ts";
import type { NodeLabels } from "./wanted-labels.ts";

/** Whether there may be something to write, as far as the labels alone tell. */
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
    /** Labels to seize, with the value to seize them with. */
    seize: Object.fromEntries(seized.map((key) => [key, seizingValue(labels[key])])),
    /** Whether the wanted labels have to be applied at all. */
    apply: isMissing(wanted, labels) || seized.length > 0 || stale.some(isOwned),
  };
}

function isMissing(wanted: NodeLabels, live: NodeLabels): boolean {
  return Object.entries(wanted).some(([key, value]) => live[key] !== value);
}

function staleKeys(wanted: NodeLabels, live: NodeLabels): string[] {
  return Object.keys(live).filter((key) => isCapabilityLabel(key) && !Object.hasOwn(wanted, key));
}

/**
 * Labels below our prefix speak about us, whoever wrote them. NVIDIA's label may be from NVIDIA's own tools, so it is
 * seized only from one who also wrote labels of ours: the network's operator.
 */
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
