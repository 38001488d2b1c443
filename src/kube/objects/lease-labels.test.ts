import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleLease } from "../../../test/support/samples/lease-samples.ts";
import { idLabels, leaseLabels, leaseOfLabels, serviceLabels } from "./lease-labels.ts";

test("a lease is found again by its labels, the largest deployment number too", () => {
  for (const lease of [sampleLease, { ...sampleLease, dseq: 2n ** 64n - 1n }]) {
    assert.deepEqual(leaseOfLabels(leaseLabels(lease)), lease);
    assert.deepEqual(leaseOfLabels({ ...idLabels(lease), other: "label" }), lease);
  }
});

test("where a label is missing or wrong there is no lease", () => {
  const labels = leaseLabels(sampleLease);
  assert.equal(leaseOfLabels(undefined), undefined);
  assert.equal(leaseOfLabels(serviceLabels(sampleLease, "web")), undefined);
  for (const part of ["owner", "dseq", "gseq", "oseq", "provider"]) {
    const key = `akash.network/lease.id.${part}`;
    for (const wrong of ["", "0", "-1", "01", "x/1", "akash1nobody"]) {
      assert.equal(leaseOfLabels({ ...labels, [key]: wrong }), undefined, `${part} ${wrong}`);
    }
    const { [key]: _, ...rest } = labels;
    assert.equal(leaseOfLabels(rest), undefined);
  }
});
