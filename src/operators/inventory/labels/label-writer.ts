/** Keeps the labels of the nodes as they should be. A node whose labels are right costs no request. */
import { kinds } from "../../../kube/kinds.ts";
import type { Applied, Kube, KubeObject } from "../../../kube/kube.ts";
import { type OwnedFields, ownedFields } from "../../../kube/owned-fields.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { limits } from "../../../runtime/limits.ts";
import type { Log } from "../../../runtime/log.ts";
import { done, type Outcome } from "../../../runtime/outcome.ts";
import { createQueue, type Queue, type QueueCounts } from "../../../runtime/queue.ts";
import type { Random } from "../../../runtime/random.ts";
import { labelsDiffer, planLabels } from "./label-plan.ts";
import type { NodeLabels } from "./wanted-labels.ts";

export interface LabelWriterOptions {
  readonly kube: Pick<Kube, "fieldManager" | "get" | "apply">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** What the node should carry; undefined while that cannot be said, and then nothing is written. */
  readonly wanted: (node: string) => NodeLabels | undefined;
  /** What it carries as far as we have heard; undefined when there is no such node. */
  readonly live: (node: string) => NodeLabels | undefined;
}

export interface LabelWriter {
  /** Has the labels of a node looked at soon: the node changed, or what is wanted of it did. */
  look(node: string): void;
  /** Works until the signal is aborted. What failed is tried again, after growing pauses. */
  run(signal: AbortSignal): Promise<void>;
  readonly queue: Queue;
  readonly counts: LabelWriterCounts;
}

export interface LabelWriterCounts {
  readonly queue: QueueCounts;
  /** Nodes whose labels were written. */
  readonly written: number;
  /** NodeLabels of another program that no longer held and were removed. */
  readonly seized: number;
}

export function createLabelWriter({ kube, clock, random, log, wanted, live }: LabelWriterOptions): LabelWriter {
  let written = 0;
  let seized = 0;

  async function work(name: string, signal: AbortSignal): Promise<Outcome> {
    const [wish, heard] = [wanted(name), live(name)];
    if (!wish || !heard || !labelsDiffer(wish, heard)) return done();
    // Who owns a label stands on the server; it is asked only about nodes that have something to be done.
    const node = await kube.get(kinds.node, { name }, { signal });
    if (!node) return done();
    const { seize, apply } = planLabels(wish, node, kube.fieldManager);
    if (!apply) return done();
    let owned: OwnedFields | undefined = ownedFields(node, kube.fieldManager);
    if (Object.keys(seize).length > 0) {
      const { object } = await applyLabels(node, { ...wish, ...seize }, owned, signal);
      owned = object && ownedFields(object, kube.fieldManager);
    }
    await applyLabels(node, wish, owned, signal);
    written += 1;
    seized += Object.keys(seize).length;
    log.info("wrote node labels", { node: name, labels: Object.keys(wish).length });
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

  const queue = createQueue({ name: "labels", work, clock, random, log, concurrency: limits.inventoryLabelWrites });
  return {
    look: (node) => void queue.add(node),
    run: (signal) => queue.run(signal),
    queue,
    get counts() {
      return { queue: queue.counts, written, seized };
    },
  };
}
