/** Objects, and ways to look at them, of the tests that every Kubernetes passes. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Change, Kube, KubeObject, WatchOptions } from "../../../src/kube/kube.ts";
import type { ErrorCode } from "../../../src/runtime/catalogue.ts";
import { ProviderError } from "../../../src/runtime/errors.ts";
import type { Owner } from "../owner.ts";

/** A real cluster's controllers take their time. */
export const clusterMs = 40_000;

/** A name that no other test has, where names are for the whole cluster. */
export function ownName(word: string): string {
  return `${word}-${randomBytes(4).toString("hex")}`;
}

export function follow(owner: Owner, kube: Kube, namespace: string, selection: Partial<WatchOptions<unknown>> = {}) {
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
export const isOurs = (change: string) => !change.includes(given);
export const isOurName = (name: string) => name !== given;
export const nameOf = ({ metadata }: KubeObject) => metadata.name;

export function pickUid({ metadata }: KubeObject): { uid: string } {
  assert.ok(metadata.uid);
  return { uid: metadata.uid };
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function rejection(work: Promise<unknown>, code: ErrorCode): Promise<ProviderError> {
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

export function deployment(namespace: string, name: string, word: string, replicas = 1): KubeObject {
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

/** The smallest that answers: it is ready once its page is there. */
export function webDeployment(namespace: string, image: string, port: number): KubeObject {
  const labels = { app: "web" };
  const container = { name: "web", image, ports: [{ containerPort: port }] };
  const readinessProbe = { httpGet: { path: "/", port }, periodSeconds: 1 };
  return {
    metadata: { name: "web", namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ ...container, readinessProbe }], terminationGracePeriodSeconds: 1 },
      },
    },
  };
}
