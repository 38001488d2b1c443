/** The smallest thing that keeps objects as they should be: it hears of every change and applies what it wishes again. */
import type { Kube, WatchCache } from "../src/kube/kube.ts";
import { type OwnedFields, ownedFields } from "../src/kube/owned-fields.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { done } from "../src/runtime/outcome.ts";
import { createQueue } from "../src/runtime/queue.ts";
import { realRandom } from "../src/runtime/random.ts";
import { type DesiredObject, leaseKinds } from "./lease-objects.ts";

/** What the cluster has of our fields, by kind. */
export type LiveFields = ReadonlyMap<DesiredObject["kind"], WatchCache<OwnedFields>>;

/** Resolves when every cache is filled. */
export async function watchLive(kube: Kube, namespace: string, changed?: (key: string) => void): Promise<LiveFields> {
  const caches = leaseKinds.map((kind) => {
    const project = (object: Parameters<typeof ownedFields>[0]) => ownedFields(object, kube.fieldManager);
    const handle = ({ name }: { name: string }) => changed?.(keyOf(kind, name));
    return [kind, kube.watch({ kind, namespace, project, withManagedFields: true, handle })] as const;
  });
  await Promise.all(caches.map(([, cache]) => cache.synced()));
  return new Map(caches);
}

export async function applyOne(kube: Kube, live: LiveFields, { kind, at, desired }: DesiredObject, word: string) {
  return kube.apply(kind, desired(word), { live: live.get(kind)?.get(at) ?? null, force: true });
}

export interface Keeper {
  stop(): Promise<void>;
}

export async function startKeeper(kube: Kube, wishes: readonly DesiredObject[], word: string): Promise<Keeper> {
  const byKey = new Map(wishes.map((wished) => [keyOf(wished.kind, wished.at.name), wished]));
  const work = async (key: string) => {
    const wished = byKey.get(key);
    if (wished) await applyOne(kube, live, wished, word);
    return done();
  };
  const queue = createQueue({ name: "keeper", work, clock: realClock, random: realRandom, log: silentLog });
  const live = await watchLive(kube, wishes[0]?.at.namespace ?? "", (key) => void queue.add(key));
  const stopping = new AbortController();
  const running = queue.run(stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await running;
      for (const cache of live.values()) await cache.close();
    },
  };
}

function keyOf({ plural }: DesiredObject["kind"], name: string): string {
  return `${plural}/${name}`;
}
