/** All that we make of every recorded lease, given to an API server: it takes each, and each is then as desired. */
import assert from "node:assert/strict";
import { addressesWanted } from "../src/cluster/addresses/addresses-wanted.ts";
import { hostsWanted } from "../src/cluster/hostnames/hosts-wanted.ts";
import { asSent, isAsDesired } from "../src/kube/as-desired.ts";
import { installDefinitions } from "../src/kube/definitions.ts";
import { kinds, objectText } from "../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../src/kube/kube.ts";
import { leaseObjects } from "../src/kube/objects/lease-objects.ts";
import type { DesiredObject } from "../src/kube/objects/lease-workload.ts";
import { leasedIp } from "../src/kube/objects/leased-ip.ts";
import { manifestResource } from "../src/kube/objects/manifest-resource.ts";
import { providerHost } from "../src/kube/objects/provider-host.ts";
import { ownedFields } from "../src/kube/owned-fields.ts";
import { realClock } from "../src/runtime/clock.ts";
import { ownName } from "./kube-objects.ts";
import { type RecordedLease, recordedLeases } from "./recorded-leases.ts";
import { vectorTest } from "./vectors.ts";

export function checkRecordedLeases(server: string, open: () => Kube): void {
  vectorTest(
    `${server} takes every object of every recorded lease, without a warning, and a restart would write none`,
    async () => {
      const kube = open();
      await installDefinitions(kube, realClock);
      const namespace = ownName("recorded");
      await kube.create(kinds.namespace, { metadata: { name: namespace } });
      let objects = 0;
      for (const { from, ...lease } of recordedLeases()) {
        for (const { kind, object } of builtFor(lease, namespace)) {
          const desired: KubeObject = kind.namespaced
            ? { ...object, metadata: { ...object.metadata, namespace } }
            : object;
          const tried = await kube.apply(kind, desired, { dryRun: true, live: null });
          const what = `${from} ${objectText(kind, object.metadata)}`;
          assert.ok(tried.object, what);
          assert.deepEqual(tried.warnings, [], what);
          const live = ownedFields(tried.object, kube.fieldManager);
          assert.ok(isAsDesired(kind, asSent(kind, desired), live), `${what} ${JSON.stringify(tried.object)}`);
          objects += 1;
        }
      }
      assert.ok(objects >= 600, `only ${objects} objects`);
    },
  );
}

function builtFor(
  { workload, settings }: Pick<RecordedLease, "workload" | "settings">,
  manifestNamespace: string,
): DesiredObject[] {
  const { lease } = workload;
  const { namespace, policies, credentials, workloads, services } = leaseObjects(workload, settings);
  const hosts = hostsWanted(workload, { staticHostDomain: "ingress.example.com" });
  return [
    manifestResource(workload, { version: "00ff", receivedAtMs: 0 }, { manifestNamespace }),
    ...[namespace, ...policies, ...credentials, ...workloads, ...services],
    ...hosts.map((host) => providerHost({ lease, ...host }, { manifestNamespace })),
    ...addressesWanted(workload).map((address) => leasedIp({ lease, ...address }, { manifestNamespace })),
  ];
}
