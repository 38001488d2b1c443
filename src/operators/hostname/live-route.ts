/** What the cluster has for a host name: a route, or an object that a route refers to. */

import { fieldsOf, listOf, recordsOf, textOf } from "../../kube/json-fields.ts";
import { apiVersionOf, type Kind, kinds } from "../../kube/kinds.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { leaseOfLabels } from "../../kube/objects/lease-labels.ts";
import { adoptedFields, goProvider, goProviderEntry, type OwnedFields, ownedFields } from "../../kube/owned-fields.ts";
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { parseTime } from "../../runtime/clock.ts";
import { hostnameAnnotation, serversTransport, serviceAnnotation } from "./backends/backend.ts";
import { serviceKey } from "./directive.ts";

export type LiveRoute = ReturnType<typeof projectRoute>;

export type OwnRoute = LiveRoute & { readonly lease: LeaseId };

/** What its controller reports. Many controllers report nothing of an Ingress. */
interface Acceptance {
  readonly state: "accepted" | "refused" | "unknown";
  /** A controller that has to report something has not. */
  readonly isSilent?: boolean;
  readonly message?: string;
}

export interface ParentGateway {
  readonly gatewayName: string;
  readonly gatewayNamespace: string;
}

/** On a route that was removed for another one and created again, since the controller rejected that one: its reason. */
export const putBackAnnotation = "akash.network/replacement-rejected";

export function projectRoute(kind: Kind, object: KubeObject, fieldManager: string, gateway: ParentGateway) {
  const { metadata } = object;
  const { name, namespace = "", uid = "", creationTimestamp = "", deletionTimestamp } = metadata;
  const isFromBefore = goProviderEntry(metadata) !== undefined;
  return {
    ...{ kind, name, namespace, uid },
    createdAtMs: parseTime(creationTimestamp) || 0,
    /** Of a route that names no host its own name, which is that of most hosts. */
    host: hostOf(kind, object),
    /** The Service that an Ingress leads to, or that a ServersTransport is for, as in `serviceKey`. */
    service: serviceOf(kind, object),
    /** Undefined where it is not ours: no label of a lease, or not in the namespace of that lease. */
    lease: leaseOf(object, fieldManager),
    owned: ownedFields(object, fieldManager),
    /** What we would own after adopting the fields of the network's operator; undefined where it owns none. */
    ownedFromBefore: isFromBefore ? ownedOnceAdopted(kind, object, fieldManager) : undefined,
    isDeleting: deletionTimestamp !== undefined,
    /** Why its replacement was rejected, when it was created again. */
    putBackFor: metadata.annotations?.[putBackAnnotation],
    acceptance: acceptanceOf(kind, object, gateway),
  };
}

/** Whether it is a route, rather than an object that a route refers to. */
export function isRoute({ kind }: LiveRoute): boolean {
  return kind === kinds.ingress || kind === kinds.httpRoute;
}

/** Labels alone can be copied: the namespace and the manager of its fields have to fit too. */
function leaseOf({ metadata }: KubeObject, fieldManager: string): LeaseId | undefined {
  const lease = leaseOfLabels(metadata.labels);
  const managers = (metadata.managedFields ?? []).map(({ manager }) => manager);
  const isOurs = managers.includes(fieldManager) || managers.includes(goProvider);
  return lease && isOurs && leaseNamespace(lease) === metadata.namespace ? lease : undefined;
}

/** Compared with what is wanted before any write, as some controllers reload for one. */
function ownedOnceAdopted(kind: Kind, object: KubeObject, fieldManager: string): OwnedFields {
  const managedFields = adoptedFields(object.metadata, fieldManager, apiVersionOf(kind)) ?? [];
  return ownedFields({ ...object, metadata: { ...object.metadata, managedFields } }, fieldManager);
}

function hostOf(kind: Kind, object: KubeObject): string | undefined {
  const spec = fieldsOf(object["spec"]);
  const { name, annotations } = object.metadata;
  if (kind === kinds.ingress) return textOf(recordsOf(spec["rules"])[0]?.["host"]) ?? name;
  if (kind === kinds.httpRoute) return textOf(listOf(spec["hostnames"])[0]) ?? name;
  return annotations?.[hostnameAnnotation];
}

function serviceOf(kind: Kind, { metadata, ...object }: KubeObject): string | undefined {
  const path = recordsOf(fieldsOf(recordsOf(fieldsOf(object["spec"])["rules"])[0]?.["http"])["paths"])[0];
  const led = kind === kinds.ingress ? textOf(fieldsOf(fieldsOf(path?.["backend"])["service"])["name"]) : undefined;
  const service = kind === serversTransport ? metadata.annotations?.[serviceAnnotation] : led;
  return service && serviceKey({ namespace: metadata.namespace ?? "", service });
}

function acceptanceOf(kind: Kind, object: KubeObject, gateway: ParentGateway): Acceptance {
  const status = fieldsOf(object["status"]);
  if (kind === kinds.httpRoute) return acceptedBy(status, object.metadata.generation ?? 0, gateway);
  const addresses = listOf(fieldsOf(status["loadBalancer"])["ingress"]);
  return { state: kind === kinds.ingress && addresses.length > 0 ? "accepted" : "unknown" };
}

function acceptedBy(
  status: Readonly<Record<string, unknown>>,
  generation: number,
  { gatewayName, gatewayNamespace }: ParentGateway,
): Acceptance {
  const parent = recordsOf(status["parents"]).find((each) => {
    const { name, namespace } = fieldsOf(each["parentRef"]);
    return name === gatewayName && namespace === gatewayNamespace;
  });
  const conditions = recordsOf(parent?.["conditions"]);
  const about = (type: string) => conditions.find((each) => each["type"] === type);
  const bad = ["Accepted", "ResolvedRefs"].map(about).find((each) => each?.["status"] === "False");
  if (bad) return { state: "refused", message: textOf(bad["message"]) || textOf(bad["reason"]) || "" };
  const accepted = about("Accepted");
  const isCurrent = Number(accepted?.["observedGeneration"] ?? generation) >= generation;
  if (accepted?.["status"] === "True" && isCurrent) return { state: "accepted" };
  return { state: "unknown", isSilent: conditions.length === 0 };
}
