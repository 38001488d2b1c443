/** Keeps the labels of the nodes as they should be. A node whose labels are right costs no request. */
import { kinds } from "../../../kube/kinds.ts";
import type { Applied, KubeObject } from "../../../kube/kube.ts";
import { type OwnedFields, ownedFields } from "../../../kube/owned-fields.ts";
import { done, type Outcome } from "../../../runtime/outcome.ts";
import { createQueue } from "../../../runtime/queue.ts";
import type { OperatorGround } from "../../ground.ts";
import { labelsDiffer, planLabels } from "./label-plan.ts";
import type { NodeLabels } from "./wanted-labels.ts";

/** Nodes whose labels are written at once: a thousand nodes at start must not hold up the other calls. */
const inventoryLabelWrites = 4;

interface LabelWriterDeps extends OperatorGround {
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

  /**
   * With its uid, so that a node that was deleted meanwhile is not made anew as an empty shell, which is what apply does
   * with an object that is not there.
   */
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
    /** Has the labels of a node looked at soon: the node changed, or what is wanted of it did. */
    look: (node: string) => void queue.add(node),
    queue,
    /** Nodes whose labels were written, and labels of another program that no longer held and were removed. */
    get counts() {
      return { written, seized };
    },
  };
}
