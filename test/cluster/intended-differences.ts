/** Where we mean to do otherwise than the Go provider was seen to do, each with the reason. */
import type { Difference } from "../support/kube/object-differences.ts";

export interface IntendedDifference {
  readonly why: string;
  /** The recordings that show it; any where it is not given. */
  readonly from?: RegExp;
  readonly kind: RegExp;
  /** Where in the object; nothing for an object that only one of the two has. */
  readonly at: RegExp;
  /** What the two have there, where that is not plain. */
  readonly only?: (difference: Difference) => boolean;
}

const workload = /^(Deployment|StatefulSet)$/;
const wholeObject = /^$/;
const podSpec = "spec\\.template\\.spec\\.";
const container = `${podSpec}containers\\[[^\\]]+\\]\\.`;
const expression = `${podSpec}affinity\\..*\\.matchExpressions`;
const onlyOurs = ({ recorded }: Difference) => recorded === undefined;
const onlyRecorded = ({ ours }: Difference) => ours === undefined;

export const intended: readonly IntendedDifference[] = [
  {
    why: "the version of the Manifest resource on every template restarts all services for a change in one of them",
    kind: /./,
    at: /labels\.akash\.network\/manifest\.resource\.version$/,
    only: onlyRecorded,
  },
  {
    why: "the journal can be rebuilt from the Manifest resource",
    kind: /^Manifest$/,
    at: /^metadata\.annotations\.akash\.network\/manifest\.(version|received-at)$/,
    only: onlyOurs,
  },
  {
    why: "the lab wrote this annotation, to see what the provider makes of it",
    kind: /^Manifest$/,
    at: /^metadata\.annotations\.lab\.test\/touched$/,
    only: onlyRecorded,
  },
  {
    why: "no pod of a tenant may have the rights of the node",
    kind: /^Namespace$/,
    at: /labels\.pod-security\.kubernetes\.io\/enforce$/,
    only: onlyOurs,
  },
  {
    why: "a workload says which service and which of our templates it was made of, so that it keeps that template",
    kind: workload,
    at: /^metadata\.labels\.provider\.akash\.network\/(made-for|template)$/,
    only: onlyOurs,
  },
  {
    why: "the namespace's own account is named, since the API server puts back what an apply merely leaves out",
    kind: workload,
    at: new RegExp(`^${podSpec}serviceAccountName$`),
    only: ({ ours }) => ours === "default",
  },
  {
    why: "the container runtime's own filter of system calls",
    kind: workload,
    at: new RegExp(`^${podSpec}securityContext\\.seccompProfile$`),
    only: onlyOurs,
  },
  {
    why: "a label of a storage class may say true or 1, whichever operator wrote it",
    kind: /^StatefulSet$/,
    at: new RegExp(
      `^${expression}\\[akash\\.network/capabilities\\.storage\\.class\\.[a-z0-9]+\\]\\.(operator|values)$`,
    ),
  },
  {
    why: "a GPU of the memory and interface that was ordered, not any of that model",
    kind: workload,
    at: new RegExp(
      `^${expression}\\[akash\\.network/capabilities\\.gpu\\.[^\\]]*\\.(ram|interface)\\.[a-zA-Z0-9]+\\]$`,
    ),
    only: onlyOurs,
  },
  {
    why: "a workload finds its leased addresses in its environment",
    from: /\/ip-[a-z-]+\/objects/,
    kind: workload,
    at: new RegExp(`^${container}env\\[AKASH_IP_[A-Z0-9_]+\\]$`),
    only: onlyOurs,
  },
  {
    why: "of a variable that is given twice the last counts; apply takes each name once",
    kind: workload,
    at: new RegExp(`^${container}env\\[DUP\\]\\.value$`),
    only: ({ recorded, ours }) => recorded === "1" && ours === "2",
  },
  {
    why: "of a variable or port that is given twice the second is none",
    kind: workload,
    at: new RegExp(`^${container}(env|ports)\\[[^\\]]+ again\\]$`),
    only: onlyRecorded,
  },
  {
    why: "a port for UDP is one for UDP",
    kind: workload,
    at: new RegExp(`^${container}ports\\[\\d+/(TCP|UDP)\\]$`),
    only: ({ at, recorded, ours }) => (at.endsWith("/UDP]") ? recorded : ours) === undefined,
  },
  {
    why: "the name of a port does not change with what else is exposed, and names the protocol",
    kind: /^Service$/,
    at: /^spec\.ports\[\d+\/(TCP|UDP)\]\.name$/,
    only: ({ recorded, ours }) =>
      /^\d+-(\d+)$/.exec(String(recorded))?.[1] === /^(\d+)-(tcp|udp)$/.exec(String(ours))?.[1],
  },
  {
    why: "one port serves both protocols",
    kind: /^Service$/,
    at: /^spec\.ports\[\d+\/UDP\]$/,
    only: onlyOurs,
  },
  {
    why: "what nothing requests any more is removed",
    kind: /^(Service|NetworkPolicy|Secret)$/,
    at: wholeObject,
    only: onlyRecorded,
  },
  {
    why: "nothing of the clouds, the carriers and the link is the internet",
    kind: /^NetworkPolicy$/,
    at: /^spec\.egress\[2\]\.to\[0\]\.ipBlock\.except$/,
  },
  {
    why: "the internet is also that of IPv6",
    kind: /^NetworkPolicy$/,
    at: /^spec\.(egress\[2\]\.to|ingress\[0\]\.from)\[1\]$/,
    only: ({ ours, recorded }) => recorded === undefined && JSON.stringify(ours).includes('"::/0"'),
  },
  {
    why: "link-local addresses are closed now, but for name servers of the nodes",
    kind: /^NetworkPolicy$/,
    at: /^spec\.egress\[1\]\.to\[1\]$/,
    only: onlyOurs,
  },
  {
    why: "the ingress controller is admitted from whichever namespace it was installed in",
    kind: /^NetworkPolicy$/,
    at: /^spec\.ingress\[1\]\.from\[0\]\.namespaceSelector\.matchLabels$/,
    only: onlyRecorded,
  },
  {
    why: "the time of the last look would make a write out of nothing",
    kind: /^ProviderHost$/,
    at: /^metadata\.annotations\.akash\.network\/lease\.updated_at$/,
    only: onlyRecorded,
  },
  {
    why: "operators of the seeds select leased addresses by this label",
    kind: /^ProviderLeasedIP$/,
    at: /^metadata\.labels\.akash\.network\/managed$/,
    only: onlyOurs,
  },
  {
    why: "another lease of the same owner has the name or port at that moment: wanted, and withheld from it",
    from: /\/((gateway|host)-dest\/objects|ip-same\/objects|ip-migrate\/objects-(destination-0|source-1))\.json$/,
    kind: /^(ProviderHost|ProviderLeasedIP)$/,
    at: wholeObject,
    only: onlyOurs,
  },
  {
    why: "the recorded provider deletes every leased address of every tenant when one is renamed, the new one too",
    from: /\/ip-rename\/objects-1\.json$/,
    kind: /^ProviderLeasedIP$/,
    at: wholeObject,
    only: onlyOurs,
  },
  {
    why: "an external port that was changed is no longer served",
    from: /\/ip-update-port\/objects-1\.json$/,
    kind: /^ProviderLeasedIP$/,
    at: wholeObject,
    only: onlyRecorded,
  },
  {
    why: "the container's port may be changed behind a leased address",
    from: /\/ip-update\/objects-1\.json$/,
    kind: /^ProviderLeasedIP$/,
    at: /^spec\.port$/,
  },
];

export function isIntended(
  { from, kind, at, only }: IntendedDifference,
  difference: Difference & { readonly from: string; readonly kind: string },
): boolean {
  return (
    (from?.test(difference.from) ?? true) &&
    kind.test(difference.kind) &&
    at.test(difference.at) &&
    (only?.(difference) ?? true)
  );
}
