/** What every Kubernetes does, whatever it is made of. The real API server and the simulated one run exactly this. */
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { kubePageObjects } from "../../../src/kube/client/pages.ts";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, LogLine, ObjectAt } from "../../../src/kube/kube.ts";
import { eventually } from "../eventually.ts";
import { clusterMs, collect, configMap, follow, isOurName, isOurs, nameOf, rejection } from "../kube/kube-objects.ts";
import type { Owner } from "../owner.ts";
import { checkApply } from "./kube-apply.contract.ts";
import { checkCustomResources } from "./kube-custom.contract.ts";
import { checkDeletion } from "./kube-delete.contract.ts";
import { checkDryRuns } from "./kube-dry-run.contract.ts";
import { checkObjects } from "./kube-object.contract.ts";
import { checkPodSecurity } from "./kube-pod-security.contract.ts";
import { checkRejections } from "./kube-rejection.contract.ts";
import { checkRestarts } from "./kube-restart.contract.ts";
import { checkSelection } from "./kube-select.contract.ts";
import { checkWrites } from "./kube-write.contract.ts";

export { configMap } from "../kube/kube-objects.ts";

export interface KubeStage {
  /** Writes as "akash-provider". */
  readonly kube: Kube;
  /** The same cluster, for another client or for the same after a restart. */
  connect(fieldManager: string): Kube;
  /** There, empty, and not used by any other test. */
  readonly namespace: string;
  /** A running pod with one container that printed "first" and "second" and has a shell; undefined where pods do not run. */
  readonly pod: ObjectAt | undefined;
}

export type OpenKube = (owner: Owner) => Promise<KubeStage>;

export interface KubeContract {
  readonly name: string;
  readonly skip: false | string;
  readonly open: OpenKube;
}

export function checkKubeContract({ name, skip, open }: KubeContract): void {
  describe(`${name} as Kubernetes`, { skip }, () => {
    checkWatching(open);
    checkSelection(open);
    checkObjects(open);
    checkApply(open);
    checkWrites(open);
    checkDryRuns(open);
    checkRestarts(open);
    checkDeletion(open);
    checkCustomResources(open);
    checkRejections(open);
    checkPodSecurity(open);
    checkPods(open);
  });
}

function checkWatching(open: OpenKube): void {
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

  test("a list has every object, also beyond one page", async (t) => {
    const { kube, namespace } = await open(t);
    const names = Array.from({ length: kubePageObjects + 1 }, (_, n) => `map-${String(n).padStart(4, "0")}`);
    await Promise.all(names.map((each) => kube.create(kinds.configMap, configMap(namespace, each, {}))));
    const found = await kube.list(kinds.configMap, { namespace });
    assert.deepEqual(found.map(nameOf).filter(isOurName).sort(), names);
    assert.ok(found.every(({ kind, apiVersion }) => kind === "ConfigMap" && apiVersion === "v1"));
  });

  test("the version says who is there", async (t) => {
    const { kube } = await open(t);
    assert.match((await kube.version()).gitVersion, /^v1\.\d+/);
  });
}

function checkPods(open: OpenKube): void {
  test("the log of a container is read line by line, and its tail alone", async (t) => {
    const { kube, pod } = await open(t);
    if (!pod) return t.skip("pods do not run here");
    assert.deepEqual((await collect(kube.logs(pod))).flat().slice(0, 2).map(textOf), ["first", "second"]);
    assert.deepEqual((await collect(kube.logs(pod, { tailLines: 1 }))).flat().map(textOf), ["second"]);
    return undefined;
  });

  test("a container that a pod does not have has no log and takes no command", async (t) => {
    const { kube, pod } = await open(t);
    if (!pod) return t.skip("pods do not run here");
    await rejection(collect(kube.logs(pod, { container: "missing" })), "AKP_KUBE_REFUSED");
    await rejection(kube.exec(pod, { container: "missing", command: ["true"] }), "AKP_KUBE_REFUSED");
    await rejection(kube.exec({ ...pod, name: "missing" }, { command: ["true"] }), "AKP_KUBE_NOT_FOUND");
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

  test("who reads a command's output alone is not kept waiting by what it says beside that", async (t) => {
    const { kube, pod } = await open(t);
    if (!pod) return t.skip("pods do not run here");
    const session = await kube.exec(pod, { command: ["sh", "-c", "echo error >&2; cat"], stdin: true });
    const said = text(session.stdout);
    await eventually("the unread output", () => session.stderr.readableLength > 0);
    session.stdin.end("done");
    assert.equal(await said, "done");
    assert.equal(await session.exit, 0);
    return undefined;
  });

  test("a pod that names a node without room for it is turned away by the kubelet", async (t) => {
    const { kube, pod, namespace } = await open(t);
    if (!pod) return t.skip("pods do not run here");
    const running = await kube.get(kinds.pod, pod);
    assert.ok(running);
    const { nodeName } = running["spec"] as { nodeName: string };
    const at = { namespace, name: "large" };
    const resources = { requests: { cpu: "1000" } };
    const spec = { nodeName, containers: [{ name: "main", image: "nowhere.example/web:1", resources }] };
    // The namespace's service account comes a moment after the namespace.
    await eventually("the pod to be accepted", () => kube.apply(kinds.pod, { metadata: at, spec }), clusterMs);
    const status = await eventually(
      "its end",
      async () => {
        const now = (await kube.get(kinds.pod, at))?.["status"] as Record<string, string> | undefined;
        return now?.["phase"] === "Failed" && now;
      },
      clusterMs,
    );
    assert.equal(status["reason"], "OutOfcpu");
    const lack = "Node didn't have enough resource: cpu, requested: 1000000";
    assert.match(status["message"] ?? "", new RegExp(`^Pod was rejected: ${lack}, used: \\d+, capacity: \\d+$`));
    return undefined;
  });
}

const textOf = ({ text: line }: LogLine) => line;
