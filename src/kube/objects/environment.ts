/** What a container finds in its environment: what the tenant says, and who it is on the market where he does not. */
import { addressVariables } from "./lease-addresses.ts";
import type { ObjectSettings } from "./lease-workload.ts";
import type { ServiceWorkload } from "./service-workload.ts";

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: Readonly<Record<string, unknown>>;
}

export function environment({ lease, service }: ServiceWorkload, settings: ObjectSettings): Variable[] {
  const given = (service.env ?? []).map(readVariable);
  const names = new Set(given.map(({ name }) => name));
  const { owner, dseq, gseq, oseq, provider } = lease;
  const ours = Object.entries({
    AKASH_GROUP_SEQUENCE: gseq,
    AKASH_DEPLOYMENT_SEQUENCE: dseq,
    AKASH_ORDER_SEQUENCE: oseq,
    AKASH_OWNER: owner,
    AKASH_PROVIDER: provider,
    AKASH_CLUSTER_PUBLIC_HOSTNAME: settings.clusterPublicHostname,
  }).map(([name, value]) => variable(name, `${value}`));
  return [...settled(given), ...[...ours, ...addressVariables(service)].filter(({ name }) => !names.has(name))];
}

function readVariable(text: string): Variable {
  const [name = ""] = text.split("=", 1);
  return variable(name, text.slice(name.length + 1));
}

function variable(name: string, value: string): Variable {
  return value === "" ? { name } : { name, value };
}

/**
 * Of a name that is given twice the last value counts, and what stands between refers to the one before, as in a container
 * that is told both. Kubernetes takes each name once, so these references are resolved here; those to names that nobody
 * gave stay, for the cluster knows some of them.
 */
function settled(variables: readonly Variable[]): readonly Variable[] {
  const values = new Map<string, string>();
  let room = mostResolvedChars;
  for (const { name, value = "" } of variables) {
    const resolved = value.replace(/\$\$|\$\(([^)]*)\)/g, (text, referred) => {
      const given = values.get(referred);
      if (given === undefined || given.length > room) return text;
      room -= given.length;
      return given;
    });
    values.set(name, resolved);
  }
  if (values.size === variables.length) return variables;
  return [...values].map(([name, value]) => variable(name, value));
}

/**
 * What references may add to all values together. A value that refers to itself twice, a few dozen times over, would fill
 * any memory; and no object of the cluster is larger than this.
 */
const mostResolvedChars = 1024 * 1024;
