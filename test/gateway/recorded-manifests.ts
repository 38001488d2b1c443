/** The manifests of the recordings: what was sent under the recorder's names for it, and the groups on chain that it goes with. */
import assert from "node:assert/strict";
import { parseDecCoin } from "../../src/market/coin.ts";
import { endpointKinds, type GroupSpec } from "../../src/market/group-spec.ts";
import type { Manifest, ManifestExpose, ManifestGroup, ManifestService } from "../../src/market/manifest.ts";

type Changeable<T> = T extends (infer Item)[] | readonly (infer Item)[]
  ? Changeable<Item>[]
  : T extends object
    ? { -readonly [Name in keyof T]: Changeable<T[Name]> }
    : T;
type Draft = Changeable<ManifestGroup>[];
type Change = (group: Draft[number], draft: Draft) => void;

const at = <T>(items: readonly T[], index: number): T => items[index] as T;
const service = (group: Draft[number], index = 0): Changeable<ManifestService> => at(group.services, index);
const expose = (group: Draft[number], index = 0): Changeable<ManifestExpose> => at(service(group).expose, index);
const without = (part: string) => (group: Draft[number]) => Object.assign(service(group).resources, { [part]: null });

/** What the recorder changed in a manifest, by its name for it. */
const changes: Readonly<Record<string, Change>> = {
  "group without services": (group) => Object.assign(group, { services: [] }),
  "services null": (group) => Object.assign(group, { services: null }),
  "two groups of the same name": (group, draft) => draft.push(group),
  "services not sorted": ({ services }) => services.reverse(),
  "service name with capital": (group) => Object.assign(service(group), { name: "Api" }),
  "service name empty": (group) => Object.assign(service(group), { name: "" }),
  "image empty": (group) => Object.assign(service(group), { image: "" }),
  "resources id 0": (group) => Object.assign(service(group).resources, { id: 0 }),
  ...Object.fromEntries(
    ["cpu", "memory", "gpu", "storage", "endpoints"].map((part) => [`resources.${part} null`, without(part)]),
  ),
  "bad env name": (group) => Object.assign(service(group), { env: ["1A=b"] }),
  "env empty entry": (group) => Object.assign(service(group), { env: [""] }),
  "expose port 0": (group) => Object.assign(expose(group), { port: 0 }),
  "expose port 65536": (group) => Object.assign(expose(group), { port: 65_536 }),
  "expose proto tcp": (group) => Object.assign(expose(group), { proto: "tcp" }),
  "expose not sorted": (group) => service(group).expose.reverse(),
  "host with capital": (group) => Object.assign(at(service(group, 2).expose, 0), { hosts: ["A.rec.test"] }),
  "host of 256 characters": (group) =>
    Object.assign(at(service(group, 2).expose, 0), { hosts: [`${"a.".repeat(126)}test`] }),
  "host twice": (group) => Object.assign(at(service(group, 2).expose, 0), { hosts: ["a1.rec.test", "a1.rec.test"] }),
  "no global service": ({ services }) => {
    for (const { expose } of services) for (const one of expose) one.global = false;
  },
  "wrong hash (env changed)": (group) => Object.assign(service(group), { env: ["A=b"] }),
  "wrong hash (null made [])": (group) => Object.assign(service(group), { env: [] }),
  "cpu differs": (group) => Object.assign(service(group).resources.cpu.units, { val: "60" }),
  "memory differs": (group) => Object.assign(service(group).resources.memory.size, { val: "16777217" }),
  "storage size differs": (group) =>
    Object.assign(at(service(group).resources.storage ?? [], 0).size, { val: "16777217" }),
  "gpu differs": (group) => Object.assign(service(group).resources.gpu.units, { val: "1" }),
  "count 2 over 1": (group) => Object.assign(service(group), { count: 2 }),
  "count 0": (group) => Object.assign(service(group), { count: 0 }),
  "resources id 2": (group) => Object.assign(service(group).resources, { id: 2 }),
  "one group more": (group, draft) => {
    const more = structuredClone(group);
    Object.assign(expose(more), { hosts: null });
    draft.push({ ...more, name: "more" });
  },
  "group renamed": (group) => Object.assign(group, { name: "other" }),
  "global port 81 for 80": (group) => Object.assign(expose(group), { port: 81, externalPort: 81 }),
  "second global HTTP expose": (group) =>
    service(group).expose.push({ ...expose(group), port: 81, externalPort: 80, hosts: null }),
  "cpu attribute added": (group) =>
    Object.assign(service(group).resources.cpu, { attributes: [{ key: "a", value: "b" }] }),
  "storage name differs": (group) => Object.assign(at(service(group).resources.storage ?? [], 0), { name: "other" }),
  "endpoints differ from the expose entries": (group) =>
    Object.assign(service(group).resources, { endpoints: [{ kind: 1, sequence_number: 0 }] }),
  "ip without an endpoint": (group) => Object.assign(expose(group), { ip: "myip" }),
  "an expose left out": (group) => service(group).expose.splice(0, 1),
  "a service left out": ({ services }) => services.splice(1, 1),
  "global HTTP made a port": (group) => Object.assign(at(service(group, 2).expose, 0), { port: 81, externalPort: 81 }),
  'memory.size {}; on-chain hash as if val were "0"': (group) =>
    Object.assign(service(group).resources.memory, { size: {} }),
  "unknown fields": (group) => Object.assign(service(group), { later: { a: [1, { b: null }] } }),
  "NAME and Services": ({ name: NAME, services: Services }, draft) => draft.splice(0, 1, { NAME, Services } as never),
  "a second storage volume": (group) =>
    service(group).resources.storage?.push({ name: "more", size: { val: "16777216" } }),
};

function changed(manifest: string, change: string): string {
  const draft = JSON.parse(manifest) as Draft;
  const apply = changes[change];
  assert.ok(apply, `it is not known what "${change}" changed`);
  apply(at(draft, 0), draft);
  return JSON.stringify(draft);
}

/** What stands on chain for it. */
export function groupsOf(manifest: Manifest): GroupSpec[] {
  return manifest.map(({ name, services }) => ({
    name,
    requirements: { attributes: [], allOf: [], anyOf: [] },
    units: services.map(({ count, resources: { id, cpu, memory, gpu, storage = [], endpoints } }) => ({
      ...{ id, count, price: parseDecCoin("1000uact") },
      cpu: { milli: BigInt(cpu.units.val), attributes: cpu.attributes ?? [] },
      memory: { bytes: BigInt(memory.size.val), attributes: memory.attributes ?? [] },
      gpu: { count: BigInt(gpu.units.val), attributes: gpu.attributes ?? [] },
      storage: storage.map(({ name, size, attributes = [] }) => ({ name, bytes: BigInt(size.val), attributes })),
      endpoints: endpoints.map(({ kind = 0, sequence_number: sequenceNumber }) => {
        return { kind: endpointKinds[kind] ?? "unknown", sequenceNumber };
      }),
    })),
  }));
}

/** The manifests that others are derived from, as text. */
export interface KnownManifests {
  readonly d1: string;
  readonly d6: string;
  readonly [name: string]: string;
}

/** What was sent: the recording has names for manifests that it had before, and for what was changed in them. */
export function manifestText(body: string, known: KnownManifests): string {
  const { d1, d6 } = known;
  const [, number, change] = /^<manifest d([16]) with:? (.*)>$/.exec(body) ?? [];
  if (change !== undefined) return changed(number === "6" ? d6 : d1, change);
  if (body === "<groups of d1 and d6, both named lab>") return JSON.stringify([...JSON.parse(d1), ...JSON.parse(d6)]);
  return body.replace(/<(?:manifest )?([^<>]*)>/, (whole, name: string) => known[name] ?? whole);
}
