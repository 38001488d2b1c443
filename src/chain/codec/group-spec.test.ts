import assert from "node:assert/strict";
import { test } from "node:test";
import { GroupSpec as WireGroupSpec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { readSdl } from "../../market/sdl/sdl.ts";
import { decodeGroupSpec, writeGroupSpec } from "./group-spec.ts";

const { groups } = readSdl(`
version: "2.1"
services:
  web:
    image: web
    expose: [{ port: 80, to: [{ global: true }] }, { port: 9000, to: [{ global: true }] }]
    params: { storage: { data: { mount: /data } } }
profiles:
  compute:
    one:
      resources:
        cpu: { units: 1.5 }
        memory: { size: 1Gi }
        gpu: { units: 2, attributes: { vendor: { nvidia: [{ model: a100, ram: 80Gi }] } } }
        storage: [{ size: 1Gi }, { name: data, size: 5Gi, attributes: { persistent: true, class: beta3 } }]
  placement:
    here:
      attributes: { region: eu-west }
      signedBy: { anyOf: [akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr] }
      pricing: { one: { denom: uact, amount: 100.25 } }
deployment:
  web: { here: { profile: one, count: 3 } }
`);

test("a group read from its wire form is the group that was written", () => {
  for (const group of groups) {
    const wire = WireGroupSpec.decode(WireGroupSpec.encode(writeGroupSpec(group)).finish());
    assert.deepEqual(decodeGroupSpec(wire), group);
  }
});

test("whatever a tenant may put on chain can be read: the rules reject it, not the mirror", () => {
  const wire = WireGroupSpec.fromPartial({
    resources: [
      { resource: { cpu: { units: { val: Buffer.from("-5") } }, endpoints: [{ kind: 77 as never }] }, count: 0 },
    ],
  });
  const [unit] = decodeGroupSpec(wire).units;
  assert.deepEqual(unit?.cpu, { milli: -5n, attributes: [] });
  assert.deepEqual(unit?.endpoints, [{ kind: "unknown", sequenceNumber: 0 }]);
  assert.equal(decodeGroupSpec(undefined).name, "");
});
