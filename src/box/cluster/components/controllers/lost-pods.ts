/** Deletes pods on a node that is gone: no kubelet is left to finish them. */
import { kinds } from "../../../../kube/kinds.ts";
import type { Component, ComponentDeps } from "../component.ts";
import type { Pod } from "../shapes/pod.ts";

/** A node may come back; the real one waits as long before it believes that it is gone. */
const quarantineMs = 40_000;

export function createLostPods({ server, view, clock }: ComponentDeps): Component {
  /** By node. */
  const goneSinceMs = new Map<string, number>();

  function work(node: string): number | undefined {
    const pods = view.podsOn(node);
    if (pods.length === 0 || view.get(kinds.node, { name: node })) {
      goneSinceMs.delete(node);
      return undefined;
    }
    const since = goneSinceMs.get(node) ?? clock.monotonicMs();
    goneSinceMs.set(node, since);
    const leftMs = since + quarantineMs - clock.monotonicMs();
    if (leftMs > 0) return leftMs;
    for (const { metadata } of pods) server.delete(kinds.pod, metadata, { uid: metadata.uid, graceSeconds: 0 });
    return undefined;
  }

  return {
    name: "lostPods",
    notice({ kind, object }, wake) {
      if (kind === kinds.node) wake(object.metadata.name);
      const { nodeName } = kind === kinds.pod ? (object as Pod).spec : {};
      if (nodeName && !view.get(kinds.node, { name: nodeName })) wake(nodeName);
    },
    work,
  };
}
