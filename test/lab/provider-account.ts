/** The provider's service account with the roles of deploy/, in namespaces of its own. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { callApi } from "../../lab/api.ts";
import { kubectl } from "../../lab/kubectl.ts";
import { apiServer, places } from "../../lab/places.ts";
import { secret } from "../../lab/secrets.ts";
import { installDefinitions } from "../../src/kube/definitions.ts";
import type { KubeObject, ObjectAt } from "../../src/kube/kube.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { temporaryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import { openKube } from "./open-kube.ts";
import { grantsOf, providerManifests } from "./provider-manifests.ts";

export interface ProviderAccount {
  /** As the audit log calls it. */
  readonly user: string;
  readonly kubeconfig: string;
  readonly leaseNamespace: string;
  /** All that its roles allow: "patch deployments.apps". */
  readonly grants: ReadonlySet<string>;
}

/** Workloads, which a process outside of the cluster does not need. */
const pods = ["StatefulSet", "Service", "NetworkPolicy"];

export async function providerAccount(owner: Owner): Promise<ProviderAccount> {
  const suffix = randomBytes(4).toString("hex");
  const [services, lease] = [`test-${suffix}`, `test-${suffix}-lease`];
  const objects = providerManifests({ services, lease, clusterName: services }).filter(
    ({ kind = "" }) => !pods.includes(kind),
  );
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  owner.after(async () => void (await kubectl(["delete", "--ignore-not-found", "--filename=-"], list)));
  await installDefinitions(openKube(owner, places.kubeconfig, { fieldManager: "akash-provider-install" }), realClock);
  await kubectl(["apply", "--server-side", "--filename=-"], list);
  return {
    user: userOf(services),
    kubeconfig: await providerKubeconfig(owner, services),
    leaseNamespace: lease,
    grants: grantsOf(objects),
  };
}

/** The service account's user name in the audit log. */
export function userOf(services: string): string {
  return `system:serviceaccount:${services}:akash-provider`;
}

/** For a process outside of the cluster that is to be the provider which runs in this namespace. */
export function providerKubeconfig(owner: Owner, services: string): Promise<string> {
  return accountKubeconfig(owner, { namespace: services, name: "akash-provider" });
}

/** For a process outside that is to be this service account. */
export async function accountKubeconfig(owner: Owner, account: Required<ObjectAt>): Promise<string> {
  const path = join(temporaryFolder(owner), "kubeconfig");
  writeFileSync(path, JSON.stringify(kubeconfigOf(await tokenOf(account)), null, 2), { mode: 0o600 });
  return path;
}

async function tokenOf({ namespace, name }: Required<ObjectAt>): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3_600 } };
  const { status, body } = await callApi(path, "POST", request);
  if (status !== 201) throw new Error(`no token: ${status} ${body}`);
  return (JSON.parse(body) as KubeObject & { status: { token: string } }).status.token;
}

function kubeconfigOf(token: string): object {
  const cluster = { server: apiServer, "certificate-authority": secret("ca.crt") };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "lab", cluster }],
    users: [{ name: "provider", user: { token } }],
    contexts: [{ name: "lab", context: { cluster: "lab", user: "provider" } }],
    "current-context": "lab",
  };
}
