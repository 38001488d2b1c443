/** The objects of a lease in the lab, read by an administrator. */
import { callApi } from "../../lab/api.ts";
import { nodeName } from "../../lab/places.ts";
import { type Kind, kinds, resourceOf } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import { labelKeys } from "../../src/kube/node-labels.ts";
import { idLabels } from "../../src/kube/objects/lease-labels.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl, podStartsWithinMs, read } from "./cluster.ts";

/** The kinds of objects of a lease, without those that controllers create. */
export const inNamespace: readonly Kind[] = [
  kinds.configMap,
  ...[kinds.networkPolicy, kinds.serviceAccount, kinds.role, kinds.roleBinding, kinds.secret],
  ...[kinds.deployment, kinds.statefulSet, kinds.service],
];
export const inLeaseNamespace: readonly Kind[] = [kinds.manifest, kinds.providerHost, kinds.providerLeasedIp];

const selectorOf = (lease: LeaseId) =>
  Object.entries(idLabels(lease))
    .map(([key, value]) => `${key}=${value}`)
    .join(",");

/**
 * Every object of a lease, by "kind name", as the provider applied it: without the server's fields and with placeholders for
 * values that differ between leases. The generation stays: it shows needless and intermediate writes.
 */
export async function snapshotOf(kube: Kube, lease: LeaseId, leaseAt: string): Promise<Record<string, unknown>> {
  const namespace = leaseNamespace(lease);
  const lists = await Promise.all([
    kube
      .get(kinds.namespace, { name: namespace })
      .then((found) => ({ kind: kinds.namespace, objects: found ? [found] : [] })),
    ...inNamespace.map(async (kind) => ({ kind, objects: await kube.list(kind, { namespace }) })),
    ...inLeaseNamespace.map(async (kind) => ({
      kind,
      objects: await kube.list(kind, { namespace: leaseAt, labelSelector: selectorOf(lease) }),
    })),
  ]);
  const all = lists.flatMap(({ kind, objects }) =>
    // Every namespace gets these of its own.
    objects
      .filter(({ metadata }) => metadata.name !== "default" && metadata.name !== "kube-root-ca.crt")
      .map((object) => [`${resourceOf(kind)} ${object.metadata.name}`, plain(object)] as const),
  );
  const sorted = Object.fromEntries(all.sort(([one], [other]) => (one < other ? -1 : 1)));
  const text = JSON.stringify(sorted)
    .replaceAll(namespace, "NAMESPACE")
    .replaceAll(`${lease.dseq}`, "1")
    .replaceAll(/[0-9a-f]{64}/g, "HASH")
    // Digests of what has the namespace in it.
    .replaceAll(/("provider\.akash\.network\/(?:made-for|template)"):"[0-9a-f]+"/g, '$1:"DIGEST"')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
  return JSON.parse(text);
}

const ofServer = ["uid", "resourceVersion", "creationTimestamp", "managedFields"];
/** Addresses of the server, and the note of a MetalLB that another suite simulates on the same cluster. */
const addresses = /^(clusterIPs?|nodePort|ipFamilies|ipFamilyPolicy|metallb\.io\/ip-allocated-from-pool)$/;

function plain({ metadata, status: _, ...rest }: KubeObject): object {
  const kept = Object.fromEntries(Object.entries(metadata).filter(([name]) => !ofServer.includes(name)));
  return JSON.parse(
    JSON.stringify({ ...rest, metadata: kept }, (name, value) => (addresses.test(name) ? undefined : value)),
  );
}

export interface RunningPod {
  readonly uid: string;
  readonly image: string;
  readonly isReady: boolean;
}

/** Of one service, those that are not on their way out. */
export async function podsOf(lease: LeaseId, service: string): Promise<RunningPod[]> {
  const selector = encodeURIComponent(`akash.network/manifest-service=${service}`);
  const { items } = await read<{ items: PodObject[] }>(
    `/api/v1/namespaces/${leaseNamespace(lease)}/pods?labelSelector=${selector}`,
  );
  return items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata, spec, status }) => ({
      uid: metadata.uid ?? "",
      image: spec.containers[0]?.image ?? "",
      isReady: status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false,
    }));
}

interface PodObject extends KubeObject {
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** The inventory operator does so where there is one; the tests of that one take its labels away when they end. */
export async function offerNode(): Promise<void> {
  await kubectl(
    "label",
    "node",
    nodeName,
    "--overwrite",
    `${labelKeys.node}=true`,
    `${labelKeys.storageClass("beta2")}=1`,
  );
}

export async function runningPod(lease: LeaseId, service: string, image: string): Promise<RunningPod> {
  let labelledAtMs = Number.NEGATIVE_INFINITY;
  return eventually(
    `${service} to run ${image}`,
    async () => {
      const [pod, ...more] = await podsOf(lease, service);
      if (more.length === 0 && pod?.isReady && pod.image === image) return pod;
      if (performance.now() - labelledAtMs > 5_000) {
        labelledAtMs = performance.now();
        await offerNode();
      }
      return undefined;
    },
    podStartsWithinMs,
  );
}

/** The remaining objects of a lease, anywhere in the cluster: "kind namespace/name". */
export async function leftOf(kube: Kube, lease: LeaseId): Promise<string[]> {
  const namespace = leaseNamespace(lease);
  const text = (kind: Kind) => (object: KubeObject) =>
    `${resourceOf(kind)} ${object.metadata.namespace}/${object.metadata.name}`;
  const labelled = await Promise.all(
    [kinds.namespace, kinds.pod, kinds.persistentVolumeClaim, ...inNamespace, ...inLeaseNamespace].flatMap((kind) =>
      [selectorOf(lease), `akash.network/namespace=${namespace}`].map(async (labelSelector) =>
        (await kube.list(kind, { labelSelector })).map(text(kind)),
      ),
    ),
  );
  const { items: volumes } = await read<{ items: (KubeObject & { spec: { claimRef?: { namespace: string } } })[] }>(
    "/api/v1/persistentvolumes",
  );
  const left = volumes
    .filter(({ spec }) => spec.claimRef?.namespace === namespace)
    .map(({ metadata }) => `volume ${metadata.name}`);
  const { status } = await callApi(`/api/v1/namespaces/${namespace}`);
  return [...new Set([...labelled.flat(), ...left, ...(status === 404 ? [] : [`namespace: ${status}`])])];
}
