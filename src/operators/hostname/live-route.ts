/** What there is of a host name in the cluster: a route, or something that a route refers to. */
import { adoptedFields, networksEntry, networksProvider } from "../../kube/adopted-fields.ts";
import { fieldsOf, listOf, recordsOf, textOf } from "../../kube/json-fields.ts";
import { apiVersionOf, type Kind, kinds } from "../../kube/kinds.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { leaseOfLabels } from "../../kube/objects/lease-labels.ts";
import { type OwnedFields, ownedFields } from "../../kube/owned-fields.ts";
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { parseTime } from "../../runtime/clock.ts";
import { hostnameAnnotation } from "./backends/backend.ts";
import { serviceKey } from "./declared-host.ts";

export interface LiveRoute {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs: number;
  /** Which host name it is for; of a route that names none any more, its own name, which is that of most hosts. */
  readonly host: string | undefined;
  /** The Service that an Ingress leads to, as in `serviceKey`. */
  readonly service: string | undefined;
  /** Whose it is; undefined where it is not ours: no label of a lease, or not in the namespace of that lease. */
  readonly lease: LeaseId | undefined;
  readonly owned: OwnedFields;
  /** What we would own once the fields of the network's operator are ours; undefined where it owns none. */
  readonly ownedFromBefore: OwnedFields | undefined;
  readonly isDeleting: boolean;
  readonly acceptance: Acceptance;
}

/** What its controller says of it. Many controllers say nothing of an Ingress. */
interface Acceptance {
  readonly state: "accepted" | "refused" | "unknown";
  /** Nobody has said anything of it, who has to. */
  readonly isSilent?: boolean;
  readonly message?: string;
}

export interface ParentGateway {
  readonly gatewayName: string;
  readonly gatewayNamespace: string;
}

export function projectRoute(kind: Kind, object: KubeObject, fieldManager: string, gateway: ParentGateway): LiveRoute {
  const { metadata } = object;
  const { name, namespace = "", uid = "", creationTimestamp = "", deletionTimestamp } = metadata;
  const isFromBefore = networksEntry(metadata) !== undefined;
  return {
    ...{ kind, name, namespace, uid },
    createdAtMs: parseTime(creationTimestamp) || 0,
    host: hostOf(kind, object),
    service: kind === kinds.ingress ? serviceOf(object) : undefined,
    lease: leaseOf(object, fieldManager),
    owned: ownedFields(object, fieldManager),
    ownedFromBefore: isFromBefore ? ownedOnceTaken(kind, object, fieldManager) : undefined,
    isDeleting: deletionTimestamp !== undefined,
    acceptance: acceptanceOf(kind, object, gateway),
  };
}

/** Whether it leads somewhere itself, rather than being something that a route refers to. */
export function isRoute({ kind }: LiveRoute): boolean {
  return kind === kinds.ingress || kind === kinds.httpRoute;
}

/** Labels alone may have been copied; where it is and who wrote it must fit too. */
function leaseOf({ metadata }: KubeObject, fieldManager: string): LeaseId | undefined {
  const lease = leaseOfLabels(metadata.labels);
  const managers = (metadata.managedFields ?? []).map(({ manager }) => manager);
  const isOurs = managers.includes(fieldManager) || managers.includes(networksProvider);
  return lease && isOurs && leaseNamespace(lease) === metadata.namespace ? lease : undefined;
}

/** Then it can be held against what we want without a write, which some controllers would reload for. */
function ownedOnceTaken(kind: Kind, object: KubeObject, fieldManager: string): OwnedFields {
  const managedFields = adoptedFields(object.metadata, fieldManager, apiVersionOf(kind)) ?? [];
  return ownedFields({ ...object, metadata: { ...object.metadata, managedFields } }, fieldManager);
}

function hostOf(kind: Kind, object: KubeObject): string | undefined {
  const spec = fieldsOf(object["spec"]);
  const { name } = object.metadata;
  if (kind === kinds.ingress) return textOf(recordsOf(spec["rules"])[0]?.["host"]) ?? name;
  if (kind === kinds.httpRoute) return textOf(listOf(spec["hostnames"])[0]) ?? name;
  return object.metadata.annotations?.[hostnameAnnotation];
}

function serviceOf(object: KubeObject): string | undefined {
  const rule = recordsOf(fieldsOf(object["spec"])["rules"])[0] ?? {};
  const path = recordsOf(fieldsOf(rule["http"])["paths"])[0] ?? {};
  const name = textOf(fieldsOf(fieldsOf(path["backend"])["service"])["name"]);
  return name && serviceKey(object.metadata.namespace ?? "", name);
}

function acceptanceOf(kind: Kind, object: KubeObject, gateway: ParentGateway): Acceptance {
  const status = fieldsOf(object["status"]);
  if (kind === kinds.ingress) {
    const addresses = listOf(fieldsOf(status["loadBalancer"])["ingress"]);
    return { state: addresses.length > 0 ? "accepted" : "unknown" };
  }
  return kind === kinds.httpRoute ? acceptedBy(status, object.metadata.generation ?? 0, gateway) : { state: "unknown" };
}

function acceptedBy(status: Fields, generation: number, { gatewayName, gatewayNamespace }: ParentGateway): Acceptance {
  const parent = recordsOf(status["parents"]).find((each) => {
    const { name, namespace } = fieldsOf(each["parentRef"]);
    return name === gatewayName && namespace === gatewayNamespace;
  });
  const conditions = recordsOf(parent?.["conditions"]);
  const about = (type: string) => conditions.find((each) => each["type"] === type);
  const bad = ["Accepted", "ResolvedRefs"].map(about).find((each) => each?.["status"] === "False");
  if (bad) return { state: "refused", message: textOf(bad["message"]) || textOf(bad["reason"]) || "" };
  const accepted = about("Accepted");
  const isOfNow = Number(accepted?.["observedGeneration"] ?? generation) >= generation;
  if (accepted?.["status"] === "True" && isOfNow) return { state: "accepted" };
  return { state: "unknown", isSilent: conditions.length === 0 };
}

type Fields = Readonly<Record<string, unknown>>;
