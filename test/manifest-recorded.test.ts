/**
 * Everything that was sent to the network's own provider as a manifest, sent to ours: the same status and the same words, but
 * for the differences listed here.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDecCoin } from "../src/market/coin.ts";
import { endpointKinds, type GroupSpec } from "../src/market/group-spec.ts";
import type { DeploymentId } from "../src/market/ids.ts";
import type { Manifest, ManifestExpose, ManifestGroup, ManifestService } from "../src/market/manifest.ts";
import { readManifest } from "../src/market/manifest-json.ts";
import { ProviderError } from "../src/runtime/errors.ts";
import { limits } from "../src/runtime/limits.ts";
import { type ManifestStage, onManifestStage } from "./manifest-stage.ts";
import { readJsonVector, vectorsPresent } from "./vectors.ts";

interface Volatile {
  readonly manifest_d1: string;
  readonly manifest_d6: string;
}

interface Recording {
  readonly volatile: Volatile;
  readonly vectors: readonly Vector[];
}

interface Vector {
  readonly name: string;
  readonly request: { readonly method?: string; readonly raw?: string; readonly path?: string; readonly body?: string };
  readonly answer: { readonly status?: number; readonly body?: string };
}

interface Answer {
  readonly status: number;
  readonly words: string;
}

/** Where the network's provider says 500 for what is the tenant's fault, or dies of it. */
const differences: Readonly<Record<string, Answer>> = {
  "PUT, resources id 0": { status: 422, words: "resources ID must be > 0" },
  "PUT, resources.cpu null": { status: 422, words: "CPU must not be nil" },
  "PUT, resources.memory null": { status: 422, words: "memory must not be nil" },
  "PUT, resources.gpu null": { status: 422, words: "GPU must not be nil" },
  "PUT, resources.storage null": { status: 422, words: "storage must not be nil" },
  "PUT, resources.endpoints null": { status: 422, words: "endpoints must not be nil" },
  "PUT, hash right, one group more": { status: 422, words: "invalid manifest: group count mismatch (2 != 1)" },
  "PUT, hash right, group renamed": { status: 422, words: "invalid manifest: unknown deployment group ('other')" },
  "PUT, hash right, one storage volume more than on chain": {
    status: 422,
    words: 'manifest cross-validation error: group "lab": service "web": Storage resources mismatch for ID 1',
  },
  "PUT, hash right, memory value missing": {
    status: 422,
    words: 'manifest cross-validation error: group "lab": service "web": Memory resources mismatch for ID 1',
  },
};

/** Who is asked, and with what number, is for whoever speaks HTTP; updates are in `manifest.test.ts`; one was not recorded. */
const notOurs =
  /no credentials|, dseq (abc|-1|1844|1\.5|%20|0x10|\+5)|after an on-chain update|one image cannot be pulled/;

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

function groupsOf(manifest: Manifest): GroupSpec[] {
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

/** What was sent: the recording has names for manifests that it had before, and for what was changed in them. */
function textOf({ request: { body = "", raw } }: Vector, { manifest_d1: d1, manifest_d6: d6 }: Volatile): string {
  const [, number, change] = /^<manifest d([16]) with:? (.*)>$/.exec(body) ?? [];
  if (change !== undefined) return changed(number === "6" ? d6 : d1, change);
  if (raw !== undefined) return d1;
  if (body === "<groups of d1 and d6, both named lab>") return JSON.stringify([...JSON.parse(d1), ...JSON.parse(d6)]);
  return body.replace("<manifest d1>", d1).replace(/^<manifest d[36]>$/, d6);
}

/** The deployments that it was sent to. */
async function deploymentsOf(stage: ManifestStage, { manifest_d1: d1, manifest_d6: d6 }: Volatile) {
  const known = await post(stage, 1_000n, { groupsOf: d1, hashOf: d1, fate: "leased" });
  let dseq = 1_000n;
  return ({ name, request, answer }: Vector, text: string): Promise<DeploymentId> | DeploymentId => {
    dseq += 1n;
    const made = (...[groupsOf, hashOf, fate]: [string, string, Fate?]) =>
      post(stage, dseq, { groupsOf, hashOf, fate });
    if (/unknown dseq|dseq of another owner|dseq 0$/.test(name)) return { ...known, dseq: 99n };
    if (/^PUT, (just )?closed/.test(name)) return made(d6, d6, "closed");
    if (name === "PUT, deployment without lease") return made(d6, d6);
    if (name.startsWith("PUT, hash right")) return made(request.body?.startsWith("<manifest d6") ? d6 : d1, text);
    const isWhole = request.body?.startsWith("[{") && answer.status !== 422;
    return isWhole ? made(text, text, "leased") : known;
  };
}

type Fate = "leased" | "closed";

interface Posting {
  /** Manifests: the groups are those of the one, and the hash is that of the other. */
  readonly groupsOf: string;
  readonly hashOf: string;
  readonly fate?: Fate | undefined;
}

async function post(stage: ManifestStage, dseq: bigint, { groupsOf: from, hashOf, fate }: Posting) {
  const { manifest } = readManifest(from, limits.manifestBytes);
  const wish = { groups: groupsOf(manifest), manifest };
  const hash = Buffer.from(readManifest(hashOf, limits.manifestBytes).version(), "hex");
  const id = await stage.post(dseq, wish, hash);
  if (fate) await stage.lease(id, wish);
  if (fate === "closed") await stage.close(id);
  return id;
}

async function answerOf(sent: Promise<unknown>): Promise<Answer> {
  try {
    await sent;
    return { status: 200, words: "" };
  } catch (thrown) {
    const { entry, message } = ProviderError.from(thrown);
    return { status: entry.http, words: message };
  }
}

const recorded = "a manifest that was sent to the network's own provider gets its answer, or a listed one";
if (!vectorsPresent) {
  test(`${recorded} (skipped: no recorded data, set VECTORS to its folder)`, { skip: true }, () => undefined);
} else {
  test(recorded, async (t) => {
    const { volatile, vectors } = readJsonVector<Recording>("gateway/manifest.json");
    const ours = vectors.filter(({ name }) => name.includes("PUT") && !notOurs.test(name));
    assert.ok(ours.length >= 75, `${ours.length} were sent`);
    const names = new Set(ours.map(({ name }) => name));
    for (const name of Object.keys(differences)) assert.ok(names.has(name), `there is no ${name}`);
    await onManifestStage(t, async (stage) => {
      const { manifests } = await stage.running();
      const deploymentOf = await deploymentsOf(stage, volatile);
      for (const vector of ours) {
        const { name, answer } = vector;
        const text = textOf(vector, volatile);
        const id = await deploymentOf(vector, text);
        // Who has which host name is for others to know.
        stage.cluster.refusal = answer.body?.startsWith("hostname") ? answer.body.trim() : undefined;
        const expected = differences[name] ?? { status: answer.status, words: answer.body?.replace(/\n$/, "") };
        assert.deepEqual(await answerOf(manifests.submit(id, text)), expected, name);
      }
    });
  });
}
