import assert from "node:assert/strict";
import { test } from "node:test";
import { webWish } from "../../test/support/samples/manifest-samples.ts";
import type { ManifestExpose, ManifestGroup, ManifestService } from "./manifest.ts";
import { faultOfManifest, faultsOfEveryManifest, faultsOfManifest } from "./manifest-rules.ts";

const [group] = webWish().manifest as [ManifestGroup];
const [service] = group.services as [ManifestService];
const [expose] = service.expose as [ManifestExpose];
const volume = { name: "data", size: { val: "1" }, attributes: [{ key: "persistent", value: "true" }] };

const withService = (change: Partial<ManifestService>) => [{ ...group, services: [{ ...service, ...change }] }];
const withExpose = (change: Partial<ManifestExpose>) => withService({ expose: [{ ...expose, ...change }] });
const withVolumes = (names: readonly string[], more: Partial<ManifestService> = {}) =>
  withService({ ...more, resources: { ...service.resources, storage: names.map((name) => ({ ...volume, name })) } });
const mounted = (mount: string, name = "data") =>
  withVolumes(["data"], { params: { storage: [{ name, mount, readOnly: false }] } });

/** A volume of the node's own disk, which gets no name in the cluster until it is mounted. */
const onDisk = (name: string, mount = "") =>
  withService({
    resources: { ...service.resources, storage: [{ name, size: { val: "1" } }] },
    params: { storage: [{ name, mount, readOnly: false }] },
  });

/** Names that would escape their path or label, and numbers out of any sensible range. */
const rejected: readonly (readonly [string, readonly ManifestGroup[], string])[] = [
  ["a name with a slash", withService({ name: "../a" }), 'invalid manifest: service "../a" name is invalid'],
  ["a name with a line end", withService({ name: "a\n" }), 'invalid manifest: service "a\\n" name is invalid'],
  [
    "a name too long for its objects",
    withService({ name: "a".repeat(61) }),
    `invalid manifest: service "${"a".repeat(61)}" name is invalid`,
  ],
  [
    "a name too long for the labels of pods with volumes",
    withVolumes(["data"], { name: "a".repeat(53) }),
    `invalid manifest: service "${"a".repeat(53)}" name is invalid`,
  ],
  [
    "a host with a slash",
    withExpose({ hosts: ["a/b.example.com"] }),
    'invalid manifest: service "on-west": has invalid hostname "a/b.example.com"',
  ],
  [
    "a host with stars in the middle",
    withExpose({ hosts: ["a.*.example.com"] }),
    'invalid manifest: service "on-west": has invalid hostname "a.*.example.com"',
  ],
  [
    "a host of stars",
    withExpose({ hosts: ["*.*"] }),
    'invalid manifest: service "on-west": has invalid hostname "*.*"',
  ],
  ["a star alone", withExpose({ hosts: ["*"] }), 'invalid manifest: service "on-west": has invalid hostname "*"'],
  [
    "a host too long",
    withExpose({ hosts: [`${"a.".repeat(126)}aa`] }),
    `invalid manifest: service "on-west": has invalid hostname "${"a.".repeat(126)}aa"`,
  ],
  [
    "a peer that is no name",
    withExpose({ service: "A b" }),
    'invalid manifest: service "on-west": exposed to a service with an invalid name "A b"',
  ],
  [
    "an endpoint that is no name",
    withExpose({ ip: "../x" }),
    'invalid manifest: service "on-west": has an invalid endpoint name "../x"',
  ],
  ["a volume with dots", withVolumes([".."]), 'invalid manifest: service "on-west": storage ".." has an invalid name'],
  [
    "a mounted volume with a dot",
    onDisk("data.1", "/data"),
    'invalid manifest: service "on-west": storage "data.1" has an invalid name',
  ],
  [
    "a volume given twice",
    withVolumes(["data", "data"]),
    'invalid manifest: service "on-west": storage "data" is given twice',
  ],
  [
    "a path that is not absolute",
    mounted("var/lib"),
    'invalid manifest: service "on-west": storage "data" has an invalid mount path "var/lib"',
  ],
  [
    "a path that goes up",
    mounted("/var/../../etc"),
    'invalid manifest: service "on-west": storage "data" has an invalid mount path "/var/../../etc"',
  ],
  [
    "a mount of no volume",
    mounted("/a", "other"),
    'invalid manifest: service "on-west": storage "other" is not among its resources',
  ],
  [
    "two services of one name",
    [{ ...group, services: [service, service] }],
    'invalid manifest: duplicate service "on-west"',
  ],
  [
    "services without number",
    [
      {
        ...group,
        services: Array.from({ length: 301 }, (_, index) => ({
          ...service,
          name: `a${String(index).padStart(3, "0")}`,
        })),
      },
    ],
    'invalid manifest: group "west" contains more than 300 services',
  ],
  [
    "ports without number",
    withService({ expose: Array.from({ length: 301 }, (_, index) => ({ ...expose, port: index + 1 })) }),
    'invalid manifest: service "on-west": more than 300 ports are exposed',
  ],
];

test("unsafe names and absurd numbers are rejected with a message", () => {
  for (const [name, manifest, words] of rejected) assert.equal(faultOfManifest(manifest), words, name);
});

test("what is within bounds passes: wildcard hosts, long names, ports in order, variables and ports given twice", () => {
  const twice = [expose, { ...expose, global: false, service: "web" }];
  const fine: readonly (readonly ManifestGroup[])[] = [
    [group],
    withExpose({ hosts: ["*.example.com", "example.com", "a-b.c.example.com"] }),
    withService({ name: "a".repeat(60) }),
    withVolumes(["data", "default"], { name: "a".repeat(52) }),
    withExpose({ ip: "my_ip-1", service: "web" }),
    mounted("/var/lib/data"),
    withService({ env: ["A=1", "A=2", "a.b-c_d="] }),
    withService({ expose: twice }),
    withService({ expose: [expose, expose] }),
    withService({ expose: [expose, { ...expose, proto: "UDP" }] }),
    ...["my_disk", "Root", "data.1", "a".repeat(64)].map((name) => onDisk(name)),
  ];
  for (const manifest of fine) assert.deepEqual(faultsOfManifest(manifest), []);
});

test("all faults are reported at once", () => {
  assert.deepEqual(faultsOfManifest(withService({ name: "A", image: "", expose: [] })), [
    'invalid manifest: service "A" name is invalid',
    'invalid manifest: service "A" has empty image name',
    "invalid manifest: zero global services",
  ]);
});

test("an order without an endpoint is one of which no manifest is valid, unless another group of its deployment has some", () => {
  const [spec] = webWish().groups;
  assert.ok(spec);
  const silent = { units: spec.units.map((unit) => ({ ...unit, endpoints: [] })) };
  assert.deepEqual(faultsOfEveryManifest(silent, true), ["zero global services: no unit has an endpoint"]);
  assert.deepEqual(faultsOfEveryManifest(silent, false), []);
  assert.deepEqual(faultsOfEveryManifest(spec, true), []);
});
