/** Takes away what is ours in a lease's namespace and no longer wanted. Volume claims are not looked at: they hold a tenant's data. */
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { namespaceLabel } from "../../kube/objects/lease-labels.ts";
import type { DesiredObject } from "../../kube/objects/lease-workload.ts";
import type { Log } from "../../runtime/log.ts";
import { type LiveObject, type LiveObjects, liveText } from "./live-objects.ts";

interface PruneDeps {
  readonly kube: Pick<Kube, "delete">;
  readonly live: LiveObjects;
  readonly log: Log;
}

/** Returns what has our label, is not wanted, and was made by somebody else or is spared: it is left alone. */
export async function prune(
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
