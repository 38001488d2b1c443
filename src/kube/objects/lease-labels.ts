/** The network's labels, by which all tools find the objects of a lease. */
import { type LeaseId, parseLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { ProviderError } from "../../runtime/errors.ts";

export type Labels = Readonly<Record<string, string>>;

/** On every object of any provider. */
export const managedLabel = "akash.network";
export const managedSelector = `${managedLabel}=true`;
export const namespaceLabel = "akash.network/namespace";
export const serviceLabel = "akash.network/manifest-service";

const idLabelStart = "akash.network/lease.id.";
const idLabel = (part: "owner" | "dseq" | "gseq" | "oseq" | "provider") => `${idLabelStart}${part}`;

/** Of objects of a whole lease. */
export function leaseLabels(lease: LeaseId): Labels {
  return { ...idLabels(lease), [namespaceLabel]: leaseNamespace(lease) };
}

/** Without the namespace label, as on ProviderHosts and ProviderLeasedIPs. */
export function idLabels({ owner, dseq, gseq, oseq, provider }: LeaseId): Labels {
  return {
    [managedLabel]: "true",
    [idLabel("owner")]: owner,
    [idLabel("dseq")]: `${dseq}`,
    [idLabel("gseq")]: `${gseq}`,
    [idLabel("oseq")]: `${oseq}`,
    [idLabel("provider")]: provider,
  };
}

/** Of objects in a lease's namespace. */
export function memberLabels(lease: LeaseId): Labels {
  return { [managedLabel]: "true", [namespaceLabel]: leaseNamespace(lease) };
}

/** Of objects of one service; workloads and Services select pods by these. */
export function serviceLabels(lease: LeaseId, service: string): Labels {
  return { ...memberLabels(lease), [serviceLabel]: service };
}

/** Undefined where a label is missing or invalid. */
export function leaseOfLabels(labels: Labels | undefined): LeaseId | undefined {
  const parts = (["owner", "dseq", "gseq", "oseq", "provider"] as const).map((part) => labels?.[idLabel(part)] ?? "");
  return readLeaseId(parts);
}

/** Whether a namespace with the managed label is a lease's: those of operators have that label too. */
export function looksLikeLease(name: string, labels: Labels = {}): boolean {
  return /^[0-9a-v]{45}$/.test(name) || Object.keys(labels).some((label) => label.startsWith(idLabelStart));
}

/** From owner, dseq, gseq, oseq and provider; undefined for an invalid id. */
export function readLeaseId(parts: readonly string[]): LeaseId | undefined {
  try {
    return parseLeaseId(parts.join("/"));
  } catch (thrown) {
    if (thrown instanceof ProviderError) return undefined;
    throw thrown;
  }
}
