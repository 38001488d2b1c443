/** MetalLB in the lab: its definitions and pools, and its controller, played by the allocator in this process. */

import { places } from "../../lab/places.ts";
import { metalLbDefinitions } from "../../src/box/metallb/definitions.ts";
import { createMetalLb } from "../../src/box/metallb/metallb.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { metalLbNamespace } from "../../src/kube/objects/metallb.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { eventually } from "../support/eventually.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { kubectl } from "./cluster.ts";
import { openKube } from "./open-kube.ts";

/** No pod of the lab gets these; like Traefik's they exist as kube-proxy's rules alone. */
export const addresses = ["172.30.0.251", "172.30.0.252", "172.30.0.253", "172.30.0.254"] as const;

export type PlayedMetalLb = Awaited<ReturnType<typeof bringMetalLb>>;

/** Its namespace comes first, as before an installation. */
export async function makeNamespace(owner: Owner): Promise<void> {
  const admin = openKube(owner, places.kubeconfig, { fieldManager: "admin" });
  await admin.apply(kinds.namespace, { metadata: { name: metalLbNamespace } });
  owner.after(async () => void (await kubectl("delete", "namespace", metalLbNamespace)));
}

export async function bringMetalLb(owner: Owner) {
  const own = createOwner();
  const admin = openKube(own, places.kubeconfig, { fieldManager: "admin" });
  for (const each of metalLbDefinitions()) await admin.apply(kinds.customResourceDefinition, each);
  const kube = openKube(own, places.kubeconfig, { fieldManager: "metallb-controller" });
  // No pod of a namespace is accepted before.
  const account = { namespace: metalLbNamespace, name: "default" };
  await eventually("the service account", () => admin.get(kinds.serviceAccount, account));
  const stopping = new AbortController();
  const running = createMetalLb({ kube, clock: realClock, random: realRandom, log: silentLog }).run(stopping.signal);
  owner.after(async () => {
    stopping.abort();
    await running.catch(() => undefined);
    await own[Symbol.asyncDispose]();
    const names = metalLbDefinitions().map(({ metadata }) => metadata.name);
    await kubectl("delete", "customresourcedefinition", ...names);
  });
  return {
    /** An administrator's pool. */
    async setPool(name: string, ...ranges: string[]): Promise<void> {
      const pool = { metadata: { name, namespace: metalLbNamespace }, spec: { addresses: ranges } };
      // Its definition may be a moment older than what the server says of it.
      await eventually("the pool", () => admin.apply(kinds.ipAddressPool, pool));
    },
    removePool: (name: string) => admin.delete(kinds.ipAddressPool, { namespace: metalLbNamespace, name }),
  };
}
