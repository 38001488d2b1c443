/** deploy/operator-*.yaml in namespaces of the test's own, so that several can be in the lab at once, and who they are to the API server. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { kubectl } from "../../lab/kubectl.ts";
import { places } from "../../lab/places.ts";
import { installDefinitions } from "../../src/kube/definitions.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { realClock } from "../../src/runtime/clock.ts";
import type { Owner } from "../support/owner.ts";
import { openKube } from "./open-kube.ts";
import { accountKubeconfig } from "./provider-account.ts";
import { grantsOf } from "./provider-manifests.ts";

export type OperatorName = "hostname" | "ip";

/** Where operators run, and where the custom resources of leases are. */
export interface OperatorPlaces {
  readonly services: string;
  readonly lease: string;
}

/** Grants of the role in its own namespace: only needed for leader election. */
export const ofPods = ["create", "get", "update"].map((verb) => `${verb} leases.coordination.k8s.io`);

export interface OperatorAccount {
  /** As the audit log calls it. */
  readonly user: string;
  /** For a process outside of the cluster. */
  readonly kubeconfig: string;
  /** All that its roles allow: "patch services". */
  readonly grants: ReadonlySet<string>;
}

export async function operatorPlaces(owner: Owner): Promise<OperatorPlaces> {
  const suffix = randomBytes(4).toString("hex");
  const own = { services: `test-${suffix}`, lease: `test-${suffix}-lease` };
  await installDefinitions(openKube(owner, places.kubeconfig, { fieldManager: "akash-provider-install" }), realClock);
  const items = Object.values(own).map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  await applyFor(owner, items);
  return own;
}

/** The objects of `kubectl apply -f`, without namespaces, which exist already. */
export function operatorManifests(name: OperatorName, { services, lease }: OperatorPlaces): KubeObject[] {
  const text = readFileSync(join(import.meta.dirname, `../../deploy/operator-${name}.yaml`), "utf8");
  const names: Record<string, string> = { "akash-services": services, lease };
  const clusterName = `${services}-${name}`;
  const objects = parseAllDocuments(text).map((document) => document.toJS());
  for (const object of objects) {
    const { metadata } = object;
    if (metadata.namespace !== undefined) metadata.namespace = names[metadata.namespace] ?? metadata.namespace;
    else metadata.name = clusterName;
    if (object.roleRef && metadata.namespace === undefined) object.roleRef.name = clusterName;
    for (const subject of object.subjects ?? []) subject.namespace = names[subject.namespace];
  }
  return objects.filter(({ kind }) => kind !== "Namespace");
}

/** Workloads, which a process outside of the cluster does not need. */
const running = ["Deployment", "Service", "NetworkPolicy"];

export async function operatorAccount(owner: Owner, name: OperatorName, own: OperatorPlaces): Promise<OperatorAccount> {
  const objects = operatorManifests(name, own).filter(({ kind = "" }) => !running.includes(kind));
  await applyFor(owner, objects);
  return {
    user: operatorUser(name, own),
    kubeconfig: await accountKubeconfig(owner, { namespace: own.services, name: `operator-${name}` }),
    grants: grantsOf(objects),
  };
}

export function operatorUser(name: OperatorName, { services }: OperatorPlaces): string {
  return `system:serviceaccount:${services}:operator-${name}`;
}

/** Deleted with the owner, without waiting. */
export async function applyFor(owner: Owner, items: readonly object[]): Promise<void> {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  owner.after(async () => void (await kubectl(["delete", "--ignore-not-found", "--wait=false", "--filename=-"], list)));
  await kubectl(["apply", "--server-side", "--filename=-"], list);
}
