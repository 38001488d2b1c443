/** A lease that runs on the lab, made of nothing but its objects: no chain, no loop, no operator. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { fieldsOf, recordsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import type { ObjectSettings } from "../../src/kube/objects/container.ts";
import { serviceLabel } from "../../src/kube/objects/lease-labels.ts";
import { leaseObjects } from "../../src/kube/objects/lease-objects.ts";
import type { LeaseWorkload } from "../../src/kube/objects/lease-workload.ts";
import { networkPolicies, type PolicySettings } from "../../src/kube/objects/network-policies.ts";
import { addressOf } from "../../src/market/address.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { readSdl } from "../../src/market/sdl/sdl.ts";
import { eventually } from "../support/eventually.ts";
import { podStartsWithinMs, removeNamespace } from "./cluster.ts";
import { offerNode } from "./lease-look.ts";
import type { PodAt } from "./pods.ts";

export interface LabLease {
  readonly namespace: string;
  pod(service: string): Promise<KubeObject>;
  at(service: string): Promise<PodAt>;
  ip(service: string): Promise<string>;
  service(name: string): Promise<{ clusterIP: string; ports: readonly Readonly<Record<string, unknown>>[] }>;
  /** Gives it these policies instead. */
  setPolicies(policies: PolicySettings): Promise<void>;
  end(): Promise<void>;
}

/** Resolves when all services of the SDL run. */
export async function runLease(kube: Kube, sdl: string, settings: ObjectSettings): Promise<LabLease> {
  const workload = workloadOf(sdl);
  const namespace = leaseNamespace(workload.lease);
  const objects = Object.values(leaseObjects(workload, settings)).flat();
  for (const { kind, object } of objects) await kube.apply(kind, object);
  const names = workload.group.services.map(({ name }) => name);
  const pod = (service: string) => runningPod(kube, namespace, service);
  await offerNode();
  await eventually(`the pods of ${names.join(", ")}`, () => Promise.all(names.map(pod)), podStartsWithinMs);
  const lease: LabLease = {
    namespace,
    pod,
    at: async (service) => ({ namespace, name: (await pod(service)).metadata.name }),
    ip: async (service) => String(fieldsOf((await pod(service))["status"])["podIP"]),
    async service(name) {
      const { clusterIP, ports } = fieldsOf((await kube.get(kinds.service, { namespace, name }))?.["spec"]);
      return { clusterIP: String(clusterIP), ports: recordsOf(ports) };
    },
    async setPolicies(given) {
      for (const { kind, object } of networkPolicies(workload, given)) await kube.apply(kind, object);
    },
    async end() {
      await removeNamespace(namespace);
    },
  };
  return lease;
}

function workloadOf(sdl: string): LeaseWorkload {
  const [group] = readSdl(sdl).manifest;
  assert.ok(group);
  const lease = {
    owner: addressOf(randomBytes(20)),
    dseq: BigInt(Date.now()),
    gseq: 1,
    oseq: 1,
    provider: addressOf(randomBytes(20)),
    bseq: 0,
  };
  return { lease, group, offer: [] };
}

async function runningPod(kube: Kube, namespace: string, service: string): Promise<KubeObject> {
  const pods = await kube.list(kinds.pod, { namespace, labelSelector: `${serviceLabel}=${service}` });
  const running = pods.find((each) => fieldsOf(each["status"])["phase"] === "Running");
  if (!running) throw new Error(`${service} does not run: ${JSON.stringify(pods[0]?.["status"])}`);
  return running;
}
