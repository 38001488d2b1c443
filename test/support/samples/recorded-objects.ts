/**
 * Every object that the Go provider was seen to make, as one would wish it: without what the server and its
 * controllers put in. Of objects that differ in their values alone there is one.
 */
import { apiVersionOf, type Kind, kinds } from "../../../src/kube/kinds.ts";
import type { KubeObject } from "../../../src/kube/kube.ts";
import { isRecord } from "../../../src/runtime/is-record.ts";
import { listRecordings, readJsonRecording } from "../recordings.ts";

export interface RecordedObject {
  /** Where it was recorded, and what it is. */
  readonly from: string;
  readonly kind: Kind;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly metadata: Pick<KubeObject["metadata"], "labels" | "annotations">;
}

export function recordedObjects(): RecordedObject[] {
  const wishes = new Map<string, RecordedObject>();
  for (const path of listRecordings("objects").filter((each) => each.endsWith(".json"))) {
    for (const object of objectsIn(readJsonRecording(path))) {
      const kind = kindOf(object);
      if (!kind) continue;
      const wish = { from: `${path} ${kind.kind} ${object.metadata.name}`, kind, ...wished(object) };
      for (const each of [wish, inShort(wish)]) {
        const key = `${kind.kind} ${JSON.stringify(outline(each.fields))} ${Object.keys(each.metadata)}`;
        if (!wishes.has(key)) wishes.set(key, each);
      }
    }
  }
  return [...wishes.values()];
}

function objectsIn(value: unknown): KubeObject[] {
  if (isObject(value)) return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(objectsIn);
}

function isObject(value: unknown): value is KubeObject {
  return isRecord(value) && "apiVersion" in value && "kind" in value && isRecord(value["metadata"]);
}

function kindOf({ apiVersion, kind }: KubeObject): Kind | undefined {
  return Object.values(kinds).find((each) => each.kind === kind && apiVersionOf(each) === apiVersion);
}

/** Made by the server, by controllers and by kubectl, or good for one cluster only. */
const notWished = new Set(["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "nodePort", "volumeName"]);
const foreignKeys = /(^|\.)(kubernetes\.io|k8s\.io|metallb\.io)\//;

function wished({ apiVersion: _, kind: __, metadata, status: ___, ...rest }: KubeObject) {
  const fields = without(rest, (name) => notWished.has(name)) as Record<string, unknown>;
  if (metadata.labels?.["kubernetes.io/metadata.name"]) delete fields["spec"];
  if (isRecord(fields["data"]))
    fields["data"] = { ".dockerconfigjson": Buffer.from('{"auths":{}}').toString("base64") };
  const ours = (entries = {}) => without(entries, (name) => foreignKeys.test(name)) as Record<string, string>;
  return { fields, metadata: { labels: ours(metadata.labels), annotations: ours(metadata.annotations) } };
}

/** What a builder may leave out, because the server puts it in. */
const defaults: Readonly<Record<string, unknown>> = {
  protocol: "TCP",
  volumeMode: "Filesystem",
  dnsPolicy: "ClusterFirst",
  restartPolicy: "Always",
  schedulerName: "default-scheduler",
  terminationGracePeriodSeconds: 30,
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
  sessionAffinity: "None",
  internalTrafficPolicy: "Cluster",
  externalTrafficPolicy: "Cluster",
  allocateLoadBalancerNodePorts: true,
  podManagementPolicy: "OrderedReady",
  progressDeadlineSeconds: 600,
  serviceName: "",
  apiGroup: kinds.role.group,
  weight: 1,
};
const ofClaimTemplates = ["apiVersion", "kind", "status"];

function inShort(wish: RecordedObject): RecordedObject {
  const isDefault: Unwanted = (name, value, parent) =>
    isServersOwn(name, value, parent) || (wish.kind === kinds.httpRoute && ["group", "kind", "matches"].includes(name));
  return { ...wish, from: `${wish.from} in short`, fields: without(wish.fields, isDefault) as Record<string, unknown> };
}

const isServersOwn: Unwanted = (name, value, parent) =>
  (name in defaults && defaults[name] === value) ||
  (ofClaimTemplates.includes(name) && parent["kind"] === kinds.persistentVolumeClaim.kind);

const ownMetadata = new Set(["kubernetes.io/metadata.name", "deployment.kubernetes.io/revision"]);

/**
 * An object as somebody asked for it: without what the server and its controllers put in. Two requests that come to the
 * same are then the same, whether they name a default or leave it out.
 */
export function withoutDefaults({ apiVersion: _, kind, status: __, metadata, ...rest }: KubeObject): unknown {
  const isAdded: Unwanted = (name, value, parent) =>
    isServersOwn(name, value, parent) ||
    notWished.has(name) ||
    // An old name for the field beside it.
    (name === "serviceAccount" && value === parent["serviceAccountName"]) ||
    (name === "persistentVolumeClaimRetentionPolicy" && isRetained(value)) ||
    (name === "spec" && kind === kinds.namespace.kind);
  const { name, namespace, labels = {}, annotations = {} } = metadata;
  const given = (entries: object) => without(entries, (key) => ownMetadata.has(key));
  const fields = without(rest, isAdded) as Record<string, unknown>;
  return { ...fields, metadata: { name, namespace, labels: given(labels), annotations: given(annotations) } };
}

function isRetained(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((policy) => policy === "Retain");
}

type Unwanted = (name: string, value: unknown, parent: Record<string, unknown>) => boolean;

function without(value: unknown, isUnwanted: Unwanted): unknown {
  if (Array.isArray(value)) return value.map((element) => without(element, isUnwanted));
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).filter(([name, inner]) => !isUnwanted(name, inner, value));
  return Object.fromEntries(kept.map(([name, inner]) => [name, without(inner, isUnwanted)]));
}

/** The names of all fields, and what sort of value they have. */
function outline(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((element) => JSON.stringify(outline(element))))].sort();
  if (!isRecord(value)) return value === "" || value === 0 || value === false ? value : typeof value;
  return Object.keys(value)
    .sort()
    .map((name) => [name, outline(value[name])]);
}
