/** All that we make of every recorded lease, given to an API server: it takes each, and each is then as desired. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { asSent, isAsDesired } from "../../../src/kube/as-desired.ts";
import { installDefinitions } from "../../../src/kube/definitions.ts";
import { kinds, objectText } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { ownedFields } from "../../../src/kube/owned-fields.ts";
import { realClock } from "../../../src/runtime/clock.ts";
import { ownName } from "../kube/kube-objects.ts";
import { objectsOf, recordedLeases } from "../samples/recorded-leases.ts";

export function checkRecordedLeases(server: string, open: () => Kube): void {
  test(`${server} takes every object of every recorded lease, without a warning, and a restart would write none`, async () => {
    const kube = open();
    await installDefinitions(kube, realClock);
    const namespace = ownName("recorded");
    await kube.create(kinds.namespace, { metadata: { name: namespace } });
    const made = { manifestNamespace: namespace, staticHostDomain: "ingress.example.com", version: "00ff" };
    let objects = 0;
    for (const { from, ...lease } of recordedLeases()) {
      for (const { kind, object } of objectsOf(lease, made)) {
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
    assert.ok(objects >= 590, `only ${objects} objects`);
  });
}
