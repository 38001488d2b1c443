/** What a container finds in its environment: what the tenant says, and who it is on the market where he does not. */
import type { ObjectSettings } from "./lease-workload.ts";
import type { ServiceWorkload } from "./service-workload.ts";

interface Variable {
  readonly name: string;
  readonly value?: string;
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
  return [...settled(given), ...ours.filter(({ name }) => !names.has(name))];
}

function readVariable(text: string): Variable {
  const [name = ""] = text.split("=", 1);
  return variable(name, text.slice(name.length + 1));
}

function variable(name: string, value: string): Variable {
  return value === "" ? { name } : { name, value };
}

/** Of a name that is given twice the last counts, as it does in a container that is told both. */
function settled(variables: readonly Variable[]): Variable[] {
  return variables.filter(({ name }, at) => !variables.slice(at + 1).some((later) => later.name === name));
}
