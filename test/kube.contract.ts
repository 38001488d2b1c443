/** What every Kubernetes does, whatever it is made of. The real API server and the simulated one run exactly this. */
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { kinds } from "../src/kube/kinds.ts";
import type { Change, Kube, KubeObject, LogLine, ObjectAt, WatchOptions } from "../src/kube/kube.ts";
import { ownedFields } from "../src/kube/owned-fields.ts";
import type { ErrorCode } from "../src/runtime/catalogue.ts";
import { ProviderError } from "../src/runtime/errors.ts";
import { eventually } from "./eventually.ts";
import type { Owner } from "./owner.ts";

export interface KubeStage {
  /** Writes as "akash-provider". */
  readonly kube: Kube;
  /** The same cluster, for somebody else or for the same after a restart. */
  connect(fieldManager: string): Kube;
  /** There, empty, and not used by any other test. */
  readonly namespace: string;
  /** A running pod with one container that printed "first" and "second" and has a shell; undefined where pods do not run. */
  readonly pod: ObjectAt | undefined;
}

export interface KubeContract {
  readonly name: string;
  readonly skip: false | string;
  open(owner: Owner): Promise<KubeStage>;
}

export function checkKubeContract({ name, skip, open }: KubeContract): void {
  describe(`${name} as Kubernetes`, { skip }, () => {
    test("a watch holds what was there before it, and then every change in order", async (t) => {
      const { kube, namespace } = await open(t);
      await kube.create(kinds.configMap, configMap(namespace, "before", { n: "1" }));
      const { cache, changes } = follow(t, kube, namespace);
      await cache.synced();
      assert.deepEqual(changes.filter(isOurs), ["added before 1"]);
      await kube.apply(kinds.configMap, configMap(namespace, "later", { n: "1" }));
      await kube.apply(kinds.configMap, configMap(namespace, "later", { n: "2" }));
      await kube.delete(kinds.configMap, { namespace, name: "later" });
      await kube.delete(kinds.configMap, { namespace, name: "before" });
      await eventually("the end", () => changes.includes("deleted before 1"));
      assert.deepEqual(changes.filter(isOurs), [
        "added before 1",
        "added later 1",
        "modified later 2",
        "deleted later 2",
        "deleted before 1",
      ]);
      assert.equal(cache.get({ namespace, name: "later" }), undefined);
    });

    test("a watch with a selector loses an object whose label goes, and gets it back with the label", async (t) => {
      const { kube, namespace } = await open(t);
      const { cache, changes } = follow(t, kube, namespace, { labelSelector: "akash.network=true" });
      await cache.synced();
      const plain = configMap(namespace, "it", { n: "1" });
      const labelled = { ...plain, metadata: { ...plain.metadata, labels: { "akash.network": "true" } } };
      await kube.apply(kinds.configMap, labelled);
      await eventually("it to come", () => cache.size === 1);
      await kube.apply(kinds.configMap, plain);
      await eventually("it to go", () => cache.size === 0);
      await kube.apply(kinds.configMap, { ...labelled, data: { n: "2" } });
      await eventually("it to come back", () => cache.size === 1);
      assert.deepEqual(changes, ["added it 1", "deleted it 1", "added it 2"]);
    });

    test("an object that is not there is undefined, one of a kind that nobody installed is an error that names it", async (t) => {
      const { kube, namespace } = await open(t);
      assert.equal(await kube.get(kinds.configMap, { namespace, name: "nobody" }), undefined);
      const unknown = { group: "nowhere.example", version: "v1", kind: "Thing", plural: "things", namespaced: true };
      const error = await refusal(kube.get(unknown, { namespace, name: "nobody" }), "AKP_KUBE_KIND_MISSING");
      assert.match(error.message, /things\.nowhere\.example/);
    });

    test("a list has every object, also beyond one page", async (t) => {
      const { kube, namespace } = await open(t);
      const names = Array.from({ length: 12 }, (_, n) => `map-${String(n).padStart(2, "0")}`);
      await Promise.all(names.map((each) => kube.create(kinds.configMap, configMap(namespace, each, {}))));
      const found = await kube.list(kinds.configMap, { namespace });
      assert.deepEqual(found.map(nameOf).filter(isOurName).sort(), names);
      assert.ok(found.every(({ kind, apiVersion }) => kind === "ConfigMap" && apiVersion === "v1"));
    });

    test("what is created twice is a conflict", async (t) => {
      const { kube, namespace } = await open(t);
      await kube.create(kinds.configMap, configMap(namespace, "one", {}));
      await refusal(kube.create(kinds.configMap, configMap(namespace, "one", {})), "AKP_KUBE_CONFLICT");
    });

    test("an unchanged object is not written, with or without a cache to look at", async (t) => {
      const { kube, namespace } = await open(t);
      const desired = deployment(namespace, "web", "one");
      assert.equal((await kube.apply(kinds.deployment, desired)).written, true);
      assert.equal((await kube.apply(kinds.deployment, desired)).written, false);
      const object = await kube.get(kinds.deployment, { namespace, name: "web" });
      assert.ok(object);
      const live = ownedFields(object, kube.fieldManager);
      const before = kube.counts.requests;
      assert.equal((await kube.apply(kinds.deployment, desired, { live })).written, false);
      assert.equal(kube.counts.requests, before, "nothing was asked of the server");
    });

    test("after a restart nothing is written that was written before", async (t) => {
      const { kube, connect, namespace } = await open(t);
      const desired = deployment(namespace, "web", "one");
      assert.equal((await kube.apply(kinds.deployment, desired)).written, true);
      const restarted = connect(kube.fieldManager);
      assert.equal((await restarted.apply(kinds.deployment, desired)).written, false);
      assert.equal((await restarted.apply(kinds.deployment, deployment(namespace, "web", "two"))).written, true);
    });

    test("a field that is no longer wished for goes away, those of others stay", async (t) => {
      const { kube, connect, namespace } = await open(t);
      const other = connect("somebody");
      await kube.apply(kinds.configMap, configMap(namespace, "shared", { ours: "1", dropped: "1" }));
      await other.apply(kinds.configMap, configMap(namespace, "shared", { theirs: "1" }));
      await kube.apply(kinds.configMap, configMap(namespace, "shared", { ours: "2" }));
      const object = await kube.get(kinds.configMap, { namespace, name: "shared" });
      assert.deepEqual(object?.["data"], { ours: "2", theirs: "1" });
    });

    test("a field of ours that somebody took is a conflict, and is taken back with force", async (t) => {
      const { kube, connect, namespace } = await open(t);
      const other = connect("somebody");
      const desired = configMap(namespace, "edited", { ours: "1" });
      await kube.apply(kinds.configMap, desired);
      await other.apply(kinds.configMap, configMap(namespace, "edited", { ours: "by hand" }), { force: true });
      const error = await refusal(kube.apply(kinds.configMap, desired), "AKP_KUBE_CONFLICT");
      assert.match(error.message, /configmaps edited/);
      assert.equal((await kube.apply(kinds.configMap, desired, { force: true })).written, true);
      const object = await kube.get(kinds.configMap, { namespace, name: "edited" });
      assert.deepEqual(object?.["data"], { ours: "1" });
      assert.equal((await kube.apply(kinds.configMap, desired)).written, false);
    });

    test("only the very object that was looked at is deleted", async (t) => {
      const { kube, namespace } = await open(t);
      const at = { namespace, name: "one" };
      const first = await kube.create(kinds.configMap, configMap(namespace, "one", {}));
      await kube.delete(kinds.configMap, at, { ...pickUid(first) });
      const second = await kube.create(kinds.configMap, configMap(namespace, "one", {}));
      await refusal(kube.delete(kinds.configMap, at, pickUid(first)), "AKP_KUBE_CONFLICT");
      await refusal(kube.delete(kinds.configMap, at, { resourceVersion: "1" }), "AKP_KUBE_CONFLICT");
      assert.equal(await kube.delete(kinds.configMap, at, pickUid(second)), true);
      assert.equal(await kube.delete(kinds.configMap, at), false);
    });

    test("a status is merged into what is there", async (t) => {
      const { kube, namespace } = await open(t);
      await kube.apply(kinds.deployment, deployment(namespace, "web", "one", 0));
      // Not a zero: the server leaves those out.
      const status = { observedGeneration: 1 };
      await kube.patchStatus(kinds.deployment, { namespace, name: "web" }, status);
      const object = await kube.get(kinds.deployment, { namespace, name: "web" });
      assert.deepEqual({ ...(object?.["status"] as object), ...status }, object?.["status"]);
      assert.ok(object?.["spec"]);
    });

    test("the version says who is there", async (t) => {
      const { kube } = await open(t);
      assert.match((await kube.version()).gitVersion, /^v1\.\d+/);
    });

    test("the log of a container is read line by line, and its tail alone", async (t) => {
      const { kube, pod } = await open(t);
      if (!pod) return t.skip("pods do not run here");
      assert.deepEqual((await collect(kube.logs(pod))).slice(0, 2).map(textOf), ["first", "second"]);
      assert.deepEqual((await collect(kube.logs(pod, { tailLines: 1 }))).map(textOf), ["second"]);
      return undefined;
    });

    test("a command gets its input to the end, and its output, error output and exit code come back", async (t) => {
      const { kube, pod } = await open(t);
      if (!pod) return t.skip("pods do not run here");
      const session = await kube.exec(pod, { command: ["sh", "-c", "cat; echo done >&2; exit 3"], stdin: true });
      const outputs = Promise.all([text(session.stdout), text(session.stderr)]);
      session.stdin.write("some ");
      session.stdin.end("input");
      assert.equal(await session.exit, 3);
      assert.deepEqual(await outputs, ["some input", "done\n"]);
      return undefined;
    });
  });
}

function follow(owner: Owner, kube: Kube, namespace: string, selection: Partial<WatchOptions<unknown>> = {}) {
  const changes: string[] = [];
  const cache = kube.watch({
    ...selection,
    kind: kinds.configMap,
    namespace,
    project: (object) => (object["data"] as Record<string, string> | undefined)?.["n"] ?? "",
    handle: ({ type, name, value }: Change<string>) => void changes.push(`${type} ${name} ${value}`),
  });
  owner.after(() => cache.close());
  return { cache, changes };
}

/** Every namespace of a real cluster has this one from the start. */
const given = "kube-root-ca.crt";
const isOurs = (change: string) => !change.includes(given);
const isOurName = (name: string) => name !== given;
const nameOf = ({ metadata }: KubeObject) => metadata.name;
const textOf = ({ text: line }: LogLine) => line;

function pickUid({ metadata }: KubeObject): { uid: string } {
  assert.ok(metadata.uid);
  return { uid: metadata.uid };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function refusal(work: Promise<unknown>, code: ErrorCode): Promise<ProviderError> {
  const error = await work.then(
    () => assert.fail(`${code} did not come`),
    (thrown: unknown) => ProviderError.from(thrown),
  );
  assert.equal(error.code, code, error.message);
  return error;
}

export function configMap(namespace: string, name: string, data: Record<string, string>): KubeObject {
  return { metadata: { namespace, name }, data };
}

function deployment(namespace: string, name: string, word: string, replicas = 1): KubeObject {
  const labels = { app: name };
  const container = {
    name: "web",
    image: "nowhere.example/web:1",
    args: [word, "last"],
    env: [
      { name: "ZEBRA", value: "1" },
      { name: "APE", value: "2" },
    ],
    ports: [{ name: "http", containerPort: 80 }],
    resources: { limits: { cpu: "1000m", memory: "1024Mi" }, requests: { cpu: "0.1", memory: "512Mi" } },
    volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
  };
  return {
    metadata: { namespace, name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [container], volumes: [{ name: "scratch", emptyDir: {} }] },
      },
    },
  };
}
