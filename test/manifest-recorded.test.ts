/**
 * Everything that was sent to the network's own provider as a manifest, sent to ours: the same status and the same words, but
 * for the differences listed here.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDecCoin } from "../src/market/coin.ts";
import { endpointKinds, type GroupSpec } from "../src/market/group-spec.ts";
import type { Manifest, ManifestExpose, ManifestGroup, ManifestService } from "../src/market/manifest.ts";
import { readManifest } from "../src/market/manifest-json.ts";
import { ProviderError } from "../src/runtime/errors.ts";
import { limits } from "../src/runtime/limits.ts";
import { type ManifestStage, onManifestStage } from "./manifest-stage.ts";
import { readJsonVector, vectorsPresent } from "./vectors.ts";

interface Recording {
  readonly volatile: { readonly manifest_d1: string; readonly manifest_d6: string };
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

/** Who is asked, and with what number, is for whoever speaks HTTP; and one body was not recorded. */
const notOurs = /no credentials|, dseq (abc|-1|1844|1\.5|%20|0x10|\+5)|one image cannot be pulled/;

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

const recorded = "a manifest that was sent to the network's own provider gets its answer, or a listed one";
if (!vectorsPresent) {
  test(`${recorded} (skipped: no recorded data, set VECTORS to its folder)`, { skip: true }, () => undefined);
} else {
  test(recorded, async (t) => {
    const { volatile, vectors } = readJsonVector<Recording>("gateway/manifest.json");
    const { manifest_d1: d1, manifest_d6: d6 } = volatile;
    await onManifestStage(t, async (stage) => {
      const { manifests } = await stage.running();
      const post = await posting(stage);
      const known = await post(d1, d1, "leased");
      const withoutLease = await post(d6, d6);
      const [owner, unused] = [known.owner, new Set(Object.keys(differences))];
      let sent = 0;
      for (const { name, request, answer } of vectors) {
        if (!name.includes("PUT") || notOurs.test(name)) continue;
        const { body = "" } = request;
        let [id, text]: [typeof known, string] = [known, body];
        const placeholder = /^<manifest d([16]) with:? (.*)>$/.exec(body);
        const base = placeholder?.[1] === "6" ? d6 : d1;
        if (name === "PUT, unknown dseq" || name === "PUT, dseq of another owner" || name === "PUT, dseq 0") {
          [id, text] = [{ owner, dseq: 99n }, d1];
        } else if (/^PUT, (just )?closed/.test(name)) [id, text] = [await post(d6, d6, "closed"), d6];
        else if (name === "PUT, deployment without lease") [id, text] = [withoutLease, d6];
        else if (name === "PUT, hash right, memory value missing") {
          const empty = (val?: string) =>
            d6.replace('"memory":{"size":{"val":"16777216"}}', `"memory":{"size":${val ?? "{}"}}`);
          [id, text] = [await post(d6, empty('{"val":"0"}')), empty()];
        } else if (name.startsWith("PUT, hash right") && placeholder) {
          text = changed(base, placeholder[2] ?? "");
          id = await post(base, text);
        } else if (name.includes("after an on-chain update")) continue;
        else if (body === "<groups of d1 and d6, both named lab>") {
          text = JSON.stringify([...JSON.parse(d1), ...JSON.parse(d6)]);
        } else if (body.startsWith("<manifest d1 with unknown fields")) {
          text = d1.replaceAll('"image":', '"later":{"a":[1,{"b":null}]},"image":');
        } else if (body.startsWith("<manifest d1 with NAME")) {
          text = d1.replaceAll('"name":', '"NAME":').replaceAll('"services":', '"Services":');
        } else if (placeholder) text = changed(base, placeholder[2] ?? "");
        else if (body.startsWith("<manifest d1>") || request.raw) text = `${d1}${body.slice("<manifest d1>".length)}`;
        else if (body.startsWith("[{") && answer.status !== 422) id = await post(body, body, "leased");
        stage.cluster.refusal = answer.body?.startsWith("hostname") ? answer.body.trim() : undefined;
        const expected = differences[name] ?? { status: answer.status, words: answer.body?.replace(/\n$/, "") };
        unused.delete(name);
        const given = await manifests.submit(id, text).then(
          () => ({ status: 200, words: "" }),
          (thrown: unknown) => {
            const { entry, message } = ProviderError.from(thrown);
            return { status: entry.http, words: message };
          },
        );
        assert.deepEqual(given, expected, name);
        sent += 1;
      }
      assert.deepEqual([...unused], [], "a difference that is none");
      assert.ok(sent >= 75, `${sent} were sent`);
    });
  });
}

/** Posts the groups of one manifest with the hash of another. */
async function posting(stage: ManifestStage) {
  let dseq = 1_000n;
  return async (groupsFrom: string, hashOf: string, then?: "leased" | "closed") => {
    dseq += 1n;
    const { manifest } = readManifest(groupsFrom, limits.manifestBytes);
    const wish = { groups: groupsOf(manifest), manifest };
    const hash = Buffer.from(readManifest(hashOf, limits.manifestBytes).version(), "hex");
    const id = await stage.post(dseq, wish, hash);
    if (then) await stage.lease(id, wish);
    if (then === "closed") await stage.close(id);
    return id;
  };
}
