/** Service accounts, roles and pull secrets of a service. Only a service with permissions has an account: the Go provider deletes others. */
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { ImageCredentials, ManifestService } from "../../market/manifest.ts";
import { goJson } from "../../market/sorted-json.ts";
import { kinds } from "../kinds.ts";
import { idLabels, managedLabel, serviceLabels } from "./lease-labels.ts";
import type { DesiredObject } from "./lease-workload.ts";
import { type ServiceWorkload, serviceObject } from "./lease-workload.ts";

export function credentialObjects(workload: ServiceWorkload): DesiredObject[] {
  const { service } = workload;
  return [
    ...(hasPermissions(service) ? permissionObjects(workload) : []),
    ...(service.credentials ? [pullSecret(workload, service.credentials)] : []),
  ];
}

export function hasPermissions({ params }: ManifestService): boolean {
  return (params?.permissions?.read?.length ?? 0) > 0;
}

export function pullSecretName(service: string): string {
  return `docker-creds-${service}`;
}

/** The namespace's own account, which has no permissions. */
export const defaultAccount = "default";

export function accountName(service: ManifestService): string {
  return hasPermissions(service) ? service.name : defaultAccount;
}

/** An account still in use by pods, without the label by which the Go provider deletes accounts. */
export function leftAccount(lease: LeaseId, name: string): DesiredObject {
  const { [managedLabel]: _, ...labels } = { ...serviceLabels(lease, name), ...idLabels(lease) };
  return {
    kind: kinds.serviceAccount,
    object: { metadata: { name, namespace: leaseNamespace(lease), labels } },
  };
}

const readVerbs = ["get", "list", "watch"];

/** Rules of the read permissions in a manifest. Unknown ones are ignored, as by the Go provider. */
const rulesOf: ReadonlyMap<string, readonly object[]> = new Map([
  [
    "logs",
    [
      { apiGroups: [""], resources: ["pods"], verbs: readVerbs },
      { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] },
      { apiGroups: ["apps"], resources: ["deployments"], verbs: readVerbs },
    ],
  ],
  ["events", [{ apiGroups: [""], resources: ["events"], verbs: readVerbs }]],
]);

function permissionObjects(workload: ServiceWorkload): DesiredObject[] {
  const { lease, service } = workload;
  const { name } = service;
  const labels = idLabels(lease);
  const rules = [...new Set(service.params?.permissions?.read)].flatMap((word) => rulesOf.get(word) ?? []);
  const binding = {
    roleRef: { apiGroup: kinds.role.group, kind: kinds.role.kind, name },
    subjects: [{ kind: kinds.serviceAccount.kind, name, namespace: leaseNamespace(lease) }],
  };
  return [
    serviceObject(workload, kinds.serviceAccount, name, {}, labels),
    serviceObject(workload, kinds.role, name, { rules }, labels),
    serviceObject(workload, kinds.roleBinding, name, binding, labels),
  ];
}

function pullSecret(workload: ServiceWorkload, credentials: ImageCredentials): DesiredObject {
  const config = Buffer.from(dockerConfig(credentials)).toString("base64");
  return serviceObject(workload, kinds.secret, pullSecretName(workload.service.name), {
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": config },
  });
}

/** The same bytes as the Go provider's, so that adopting its leases changes no secret. */
function dockerConfig({ host, ...given }: ImageCredentials): string {
  const [username, password, email] = [given.username.trim(), given.password.trim(), given.email.trim()];
  const auth = Buffer.from(`${username}:${password}`).toString("base64");
  return goJson({ auths: { [host]: { username, password, ...(email !== "" && { email }), auth } } });
}
