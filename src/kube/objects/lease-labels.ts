/** The network's labels: by them everybody, the network's own tools too, finds what belongs to which lease. */
import { type LeaseId, parseLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { ProviderError } from "../../runtime/errors.ts";

export type Labels = Readonly<Record<string, string>>;

/** On everything that a provider makes, whichever provider it was. */
export const managedLabel = "akash.network";
/** Selects all of it. */
export const managedSelector = `${managedLabel}=true`;
export const namespaceLabel = "akash.network/namespace";
export const serviceLabel = "akash.network/manifest-service";

const idLabelStart = "akash.network/lease.id.";
const idLabel = (part: "owner" | "dseq" | "gseq" | "oseq" | "provider") => `${idLabelStart}${part}`;

/** On what belongs to a lease as a whole. */
export function leaseLabels(lease: LeaseId): Labels {
  return { ...idLabels(lease), [namespaceLabel]: leaseNamespace(lease) };
}

/** Without the name of the namespace: the network leaves it out on host names and leased addresses. */
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

/** On what lives in a lease's namespace. */
export function memberLabels(lease: LeaseId): Labels {
  return { [managedLabel]: "true", [namespaceLabel]: leaseNamespace(lease) };
}

/** On what belongs to one service of it; workloads and Services select their pods by these. */
export function serviceLabels(lease: LeaseId, service: string): Labels {
  return { ...memberLabels(lease), [serviceLabel]: service };
}

/** Whose it is; undefined where a label is missing or none of the network's making. */
export function leaseOfLabels(labels: Labels | undefined): LeaseId | undefined {
  const parts = (["owner", "dseq", "gseq", "oseq", "provider"] as const).map((part) => labels?.[idLabel(part)] ?? "");
  return readLeaseId(parts);
}

/** Whether a namespace with the network's label is meant to be a lease's: operators' own carry that label too. */
export function looksLikeLease(name: string, labels: Labels = {}): boolean {
  return /^[0-9a-v]{45}$/.test(name) || Object.keys(labels).some((label) => label.startsWith(idLabelStart));
}

/** Of owner, dseq, gseq, oseq and provider; undefined where they are no id. */
export function readLeaseId(parts: readonly string[]): LeaseId | undefined {
  try {
    return parseLeaseId(parts.join("/"));
  } catch (thrown) {
    if (thrown instanceof ProviderError) return undefined;
    throw thrown;
  }
}
