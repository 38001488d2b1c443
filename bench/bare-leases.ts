/** The least that can bring leases to a cluster: their objects one after the other, each lease beside the others. */
import { createHash } from "node:crypto";
import type { OwnControlPlane } from "../lab/own-control-plane.ts";
import { leaseDefaults } from "../src/cluster/leases/lease-options.ts";
import { leaseObjects } from "../src/kube/objects/lease-objects.ts";
import type { DesiredObject } from "../src/kube/objects/lease-workload.ts";
import { manifestResource } from "../src/kube/objects/manifest-resource.ts";
import { noOvercommit } from "../src/market/fit.ts";
import { cell } from "../test/support/samples/lease-sdl.ts";
import { createBareApply } from "./bare-apply.ts";
import { leaseOf } from "./leases-people.ts";

const { enabled, admitted } = leaseDefaults.network;
const settings = {
  ...{ ...leaseDefaults, overcommit: noOvercommit },
  policies: { enabled, admitted, facts: { ranges: [], apiServer: [] } },
};

export function bareLeases(plane: OwnControlPlane) {
  const bare = createBareApply(plane, "akash-provider");
  return {
    /** How long each of them took. */
    apply: (dseqs: readonly number[]): Promise<number[]> =>
      Promise.all(
        dseqs.map(async (dseq) => {
          const objects = objectsOf(dseq);
          const startedMs = performance.now();
          for (const { kind, object } of objects) await bare.apply(kind, object);
          return performance.now() - startedMs;
        }),
      ),
    close: bare.close,
  };
}

/** As the provider makes them, in its order. */
function objectsOf(dseq: number): DesiredObject[] {
  const { groups, manifest } = cell();
  const [group, spec] = [manifest[0], groups[0]];
  if (!group || !spec) throw new Error("there is no group");
  const workload = { lease: leaseOf(dseq), group, offer: spec.units };
  const version = createHash("sha256").update(`${dseq}`).digest("hex");
  const recorded = manifestResource(workload, { version, receivedAtMs: Date.now() }, settings);
  return [recorded, ...Object.values(leaseObjects(workload, settings)).flat()];
}
