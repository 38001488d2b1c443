/** Any lease that a tenant may send us: what the network's rules let through, odd as it may be. */
import fc from "fast-check";
import type { LeaseWorkload } from "../../src/kube/objects/lease-workload.ts";
import type { UnitResources } from "../../src/market/group-spec.ts";
import type { ManifestExpose, ManifestService } from "../../src/market/manifest.ts";
import { byPlace } from "../../src/market/manifest-rules.ts";
import { sampleExpose, sampleLease } from "./samples/lease-samples.ts";

const bytes = fc.integer({ min: 5_242_880, max: 2 ** 40 }).map((size) => ({ val: `${size}` }));
const text = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom("$(A)", "$$(A)", "a=b", "ünï", "\n", "<&>"));

const variable = fc.tuple(fc.constantFrom("A", "B", "C.d", "AKASH_OWNER"), fc.option(text, { nil: undefined })).map(
  // One without "=" is the same as one that is empty.
  ([name, value]) => (value === undefined ? name : `${name}=${value}`),
);

const port = fc.constantFrom(53, 80, 8_080, 65_535);
const expose: fc.Arbitrary<ManifestExpose> = fc
  .record({
    port,
    externalPort: fc.oneof(fc.constant(0), port),
    proto: fc.constantFrom("TCP", "UDP"),
    service: fc.constantFrom("", "db"),
    global: fc.boolean(),
    ip: fc.constantFrom("", "", "blue"),
  })
  .map((wish) => ({ ...sampleExpose, ...wish }));

const volumeAttributes = fc.constantFrom(
  undefined,
  [{ key: "class", value: "ram" }],
  ...["beta2", "beta3", "default"].map((value) => [
    { key: "class", value },
    { key: "persistent", value: "true" },
  ]),
  [{ key: "class", value: "beta1" }],
);

const volume = fc.record({
  name: fc.constantFrom("default", "data", "logs", "shm"),
  size: bytes,
  attributes: volumeAttributes,
  mount: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
  readOnly: fc.boolean(),
});

const storage = fc.uniqueArray(volume, { minLength: 1, maxLength: 4, selector: ({ name }) => name }).map((volumes) => ({
  storage: volumes.map(({ name, size, attributes }) => ({ name, size, ...(attributes && { attributes }) })),
  mounts: volumes.flatMap(({ name, mount, readOnly }) =>
    mount === undefined ? [] : [{ name, mount: `/${name}/${mount}`, readOnly }],
  ),
}));

const cards = ["vendor/nvidia/model/a100", "vendor/nvidia/model/h100/ram/80Gi/interface/sxm", "vendor/amd/model/mi100"];
const gpu = fc.option(fc.record({ count: fc.integer({ min: 1, max: 8 }), card: fc.constantFrom(...cards) }), {
  nil: undefined,
});

interface ServiceWish {
  readonly service: ManifestService;
  readonly offer: UnitResources;
}

/** Of this name, with resources of this number. */
function serviceOf(name: string, id: number): fc.Arbitrary<ServiceWish> {
  return fc
    .record({
      image: fc.constantFrom("nginx", "registry.example.com:5000/a/b@sha256:00"),
      command: fc.option(fc.array(text, { maxLength: 2 })),
      args: fc.option(fc.array(text, { maxLength: 2 })),
      env: fc.option(fc.array(variable, { maxLength: 5 })),
      count: fc.integer({ min: 1, max: 3 }),
      expose: fc.array(expose, { maxLength: 5 }).map((list) => list.sort(byPlace)),
      read: fc.option(fc.array(fc.constantFrom("logs", "events", "deployments"), { maxLength: 3 }), { nil: undefined }),
      credentials: fc.option(fc.record({ host: text, email: text, username: text, password: text })),
      cpu: fc.integer({ min: 10, max: 384_000 }),
      memory: bytes,
      volumes: storage,
      gpu,
    })
    .map(({ read, cpu, memory, volumes, gpu: cardsOf, ...rest }) => {
      const attributes = cardsOf ? [{ key: cardsOf.card, value: "true" }] : [];
      const resources = {
        id,
        cpu: { units: { val: `${cpu}` } },
        memory: { size: memory },
        storage: volumes.storage,
        gpu: { units: { val: `${cardsOf?.count ?? 0}` }, ...(cardsOf && { attributes }) },
        endpoints: [],
      };
      const params = { storage: volumes.mounts, ...(read && { permissions: { read } }) };
      const gpuOffer = { count: BigInt(cardsOf?.count ?? 0), attributes };
      const nothing = { milli: 0n, bytes: 0n, attributes: [] };
      return {
        service: { name, ...rest, resources, params },
        offer: { id, cpu: nothing, memory: nothing, gpu: gpuOffer, storage: [], endpoints: [] },
      };
    });
}

export const serviceNames = ["api", "db", "web"];

function workloadOf(wishes: readonly ServiceWish[]): LeaseWorkload {
  const services = wishes.map(({ service }) => service);
  return { lease: sampleLease, group: { name: "dc", services }, offer: wishes.map(({ offer }) => offer) };
}

const threeServices = fc.tuple(...serviceNames.map((name, at) => serviceOf(name, at + 1)));

export const anyWorkload: fc.Arbitrary<LeaseWorkload> = fc
  .tuple(threeServices, fc.integer({ min: 1, max: 3 }))
  .map(([wishes, count]) => workloadOf(wishes.slice(0, count)));

/** Two that differ in the first service alone; in the second it may be gone. */
export const anyChange: fc.Arbitrary<readonly [LeaseWorkload, LeaseWorkload]> = fc
  .tuple(threeServices, fc.option(serviceOf(serviceNames[0] ?? "", 1), { nil: undefined }))
  .map(([wishes, changed]) => [workloadOf(wishes), workloadOf([...(changed ? [changed] : []), ...wishes.slice(1)])]);
