/** Pods on a node that is gone: nobody is left to finish them. */
import { kinds } from "../../../../kube/kinds.ts";
import type { Ground, Part } from "../part.ts";
import { atOf, keyOf } from "../shapes/metadata.ts";
import type { Pod } from "../shapes/pod.ts";

/** A node may come back; the real one waits as long before it believes that it is gone. */
const quarantineMs = 40_000;

export function createLostPods({ server, view, clock }: Ground): Part {
  const lostSinceMs = new Map<string, number>();

  const isLost = ({ spec }: Pod) => Boolean(spec.nodeName) && !view.get(kinds.node, { name: spec.nodeName ?? "" });

  function work(key: string): number | undefined {
    const pod = view.get<Pod>(kinds.pod, atOf(key));
    if (!pod) return undefined;
    const { uid } = pod.metadata;
    if (!isLost(pod)) {
      lostSinceMs.delete(uid);
      return undefined;
    }
    const since = lostSinceMs.get(uid) ?? clock.monotonicMs();
    lostSinceMs.set(uid, since);
    const leftMs = since + quarantineMs - clock.monotonicMs();
    return leftMs > 0 ? leftMs : remove(pod);
  }

  function remove({ metadata: { namespace, name, uid } }: Pod): undefined {
    server.delete(kinds.pod, { namespace, name }, { uid, graceSeconds: 0 });
  }

  return {
    name: "lostPod",
    notice({ type, kind, object }, wake) {
      if (kind === kinds.node && type !== "modified") {
        for (const pod of view.podsOn(object.metadata.name)) wake(keyOf(pod.metadata));
      }
      if (kind !== kinds.pod) return;
      const pod = object as Pod;
      if (type === "deleted") lostSinceMs.delete(pod.metadata.uid);
      else if (isLost(pod)) wake(keyOf(pod.metadata));
    },
    work,
  };
}
