import assert from "node:assert/strict";
import { test } from "node:test";
import { webWish } from "../../test/support/samples/manifest-samples.ts";
import type { GroupSpec } from "./group-spec.ts";
import type { ManifestExpose, ManifestGroup, ManifestResources, ManifestService } from "./manifest.ts";
import { mismatchOf } from "./manifest-match.ts";

const { groups, manifest } = webWish();
const [group] = manifest as [ManifestGroup];
const [service] = group.services as [ManifestService];
const [expose] = service.expose as [ManifestExpose];
const { resources } = service;
const volume = { name: "default", size: { val: "134217728" } };

const withService = (change: Partial<ManifestService>) => [{ ...group, services: [{ ...service, ...change }] }];
const withResources = (change: Partial<ManifestResources>) => withService({ resources: { ...resources, ...change } });
const crossed = (reason: string) => `manifest cross-validation error: group "west": ${reason}`;
const mismatch = (what: string) => crossed(`service "on-west": ${what} resources mismatch for ID 1`);

const lies: readonly (readonly [string, readonly ManifestGroup[], string])[] = [
  ["more groups", [group, { ...group, name: "east" }], "invalid manifest: group count mismatch (2 != 1)"],
  ["an unknown group", [{ ...group, name: "east" }], "invalid manifest: unknown deployment group ('east')"],
  ["more cpu", withResources({ cpu: { units: { val: "200" } } }), mismatch("CPU")],
  ["a gpu", withResources({ gpu: { units: { val: "1" } } }), mismatch("GPU")],
  ["less memory", withResources({ memory: { size: { val: "1" } } }), mismatch("Memory")],
  [
    "memory with an attribute",
    withResources({ memory: { ...resources.memory, attributes: [{ key: "a", value: "b" }] } }),
    mismatch("Memory"),
  ],
  ["more volumes", withResources({ storage: [volume, { ...volume, name: "more" }] }), mismatch("Storage")],
  ["fewer volumes", withResources({ storage: [] }), mismatch("Storage")],
  ["a larger volume", withResources({ storage: [{ ...volume, size: { val: "134217729" } }] }), mismatch("Storage")],
  [
    "an unknown unit",
    withResources({ id: 9 }),
    crossed('service "on-west": not found deployment group resources with ID = 9'),
  ],
  [
    "more replicas",
    withService({ count: 2 }),
    crossed('service "on-west": over-utilized replicas (2) > group spec resources count (1)'),
  ],
  ["fewer replicas", withService({ count: 0 }), crossed("resources ID (1): under-utilized (1) resources")],
  [
    "another kind of port",
    withService({ expose: [{ ...expose, externalPort: 81 }] }),
    crossed('service "on-west": resource ID 1: over-utilized PORT endpoints'),
  ],
  [
    "more HTTP",
    withService({ expose: [expose, { ...expose, port: 81, externalPort: 80 }] }),
    crossed('service "on-west": resource ID 1: over-utilized HTTP endpoints'),
  ],
  [
    "an address",
    withService({ expose: [{ ...expose, ip: "myip" }] }),
    crossed('service "on-west": resource ID 1: over-utilized IP endpoints'),
  ],
  ["no port", withService({ expose: [] }), crossed("resources ID (1): under-utilized (1) HTTP endpoints")],
];

test("a manifest that differs from its groups on chain is rejected in the network's words", () => {
  assert.equal(mismatchOf(manifest, groups), undefined);
  for (const [name, lie, words] of lies) assert.equal(mismatchOf(lie, groups), words, name);
});

test("two services may share a unit, but not more than it has", () => {
  const [spec] = groups as [GroupSpec];
  const shared = [
    {
      ...spec,
      units: spec.units.map((unit) => ({ ...unit, count: 3, endpoints: [...unit.endpoints, ...unit.endpoints] })),
    },
  ];
  const both = (first: number, second: number) => [
    {
      ...group,
      services: [
        { ...service, count: first },
        { ...service, name: "second", count: second },
      ],
    },
  ];
  assert.equal(mismatchOf(both(1, 2), shared), undefined);
  assert.equal(
    mismatchOf(both(2, 2), shared),
    crossed('service "second": over-utilized replicas (2) > group spec resources count (1)'),
  );
  assert.equal(mismatchOf(both(1, 1), shared), crossed("resources ID (1): under-utilized (1) resources"));
});
