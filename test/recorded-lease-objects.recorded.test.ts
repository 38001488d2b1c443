/**
 * What we make of every lease that was recorded from the network's own provider, compared field for field with what that
 * one made. Where we mean to differ there is a row with the reason; a row that no recording needs is one too many.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { kinds } from "../src/kube/kinds.ts";
import type { KubeObject } from "../src/kube/kube.ts";
import { leaseObjects } from "../src/kube/objects/lease-objects.ts";
import type { DesiredObject } from "../src/kube/objects/lease-workload.ts";
import { manifestResource } from "../src/kube/objects/manifest-resource.ts";
import { isRecord } from "../src/runtime/is-record.ts";
import { type Difference, differences } from "./object-differences.ts";
import { type RecordedLease, recordedLeases } from "./recorded-leases.ts";
import { asAsked } from "./recorded-objects.ts";
import { vectorTest } from "./vectors.ts";

/** All that we make of a lease. Whoever builds another kind adds it here, and its differences below. */
function built({ workload, settings }: RecordedLease): DesiredObject[] {
  const { namespace, policies, credentials, workloads, services } = leaseObjects(workload, settings);
  const manifest = manifestResource(workload, { version: "", receivedAtMs: 0 }, { manifestNamespace: "lease" });
  return [manifest, namespace, ...policies, ...credentials, ...workloads, ...services];
}

interface IntendedDifference {
  readonly why: string;
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

const intended: readonly IntendedDifference[] = [
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
    why: "every service has an account of its own, so that a permission taken away leaves it one",
    kind: /^ServiceAccount$/,
    at: wholeObject,
    only: onlyOurs,
  },
  {
    why: "and its pods run as that account",
    kind: workload,
    at: new RegExp(`^${podSpec}serviceAccountName$`),
    only: onlyOurs,
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
    why: "a card of the memory and interface that was ordered, not any of that model",
    kind: workload,
    at: new RegExp(
      `^${expression}\\[akash\\.network/capabilities\\.gpu\\.[^\\]]*\\.(ram|interface)\\.[a-zA-Z0-9]+\\]$`,
    ),
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
    why: "what nothing asks for any more is removed",
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
    why: "the ingress controller is admitted from whichever namespace it was installed in",
    kind: /^NetworkPolicy$/,
    at: /^spec\.ingress\[1\]\.from\[0\]\.namespaceSelector\.matchLabels$/,
    only: onlyRecorded,
  },
];

/** Kinds that others than these functions write: host names and leased addresses. */
const writtenElsewhere = new Set<string>([kinds.providerHost.kind, kinds.providerLeasedIp.kind]);

vectorTest("every recorded lease becomes the recorded objects, but for what we mean to do otherwise", () => {
  const used = new Set<IntendedDifference>();
  const unintended: string[] = [];
  const leases = recordedLeases();
  for (const lease of leases) {
    for (const { kind, name, ...difference } of differencesOf(lease)) {
      const row = intended.find((each) => isIntended(each, kind, difference));
      if (row) used.add(row);
      else unintended.push(`${lease.from} ${kind} ${name} ${JSON.stringify(difference)}`);
    }
  }
  assert.deepEqual(unintended, []);
  assert.deepEqual(
    intended.filter((row) => !used.has(row)).map(({ why }) => why),
    [],
    "no recording needs these rows",
  );
  assert.ok(leases.length >= 68, `only ${leases.length} were recorded`);
});

test("a difference that nobody means is found wherever it is", () => {
  const web = { image: "web", env: [{ name: "A", value: "1" }, { name: "B" }] };
  const isUnintended = (ours: object) =>
    differences({ spec: web }, { spec: ours }).some(
      (each) => !intended.some((row) => isIntended(row, "Deployment", each)),
    );
  assert.ok(!isUnintended(web));
  assert.ok(isUnintended({ ...web, image: "other" }));
  assert.ok(isUnintended({ ...web, env: web.env.toReversed() }));
  assert.ok(isUnintended({ ...web, env: [{ name: "A", value: "2" }, { name: "B" }] }));
  assert.ok(isUnintended({ ...web, env: web.env.slice(1) }));
  assert.ok(isUnintended({ ...web, args: [] }));
});

function isIntended({ kind, at, only }: IntendedDifference, kindName: string, difference: Difference): boolean {
  return kind.test(kindName) && at.test(difference.at) && (only?.(difference) ?? true);
}

type Named = Difference & { readonly kind: string; readonly name: string };

function differencesOf(lease: RecordedLease): Named[] {
  const recorded = byName(lease.objects.map((object) => withHashes(object, lease.secretSha256)));
  const ours = byName(built(lease).map(({ kind, object }) => withHashes({ ...object, kind: kind.kind })));
  return [...new Set([...recorded.keys(), ...ours.keys()])].flatMap((key) => {
    const [kind = "", name = ""] = key.split(" ");
    const [theirs, own] = [recorded.get(key), ours.get(key)];
    if (writtenElsewhere.has(kind)) return [];
    const found =
      theirs && own ? differences(asAsked(theirs), asAsked(own)) : [{ at: "", recorded: theirs, ours: own }];
    return found.map((each) => ({ ...each, kind, name }));
  });
}

function byName(objects: readonly KubeObject[]): Map<string, KubeObject> {
  return new Map(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
}

/** What a secret holds was recorded as a hash. */
function withHashes(object: KubeObject, recorded?: Readonly<Record<string, string>>): KubeObject {
  if (object.kind !== kinds.secret.kind || !isRecord(object["data"])) return object;
  const hash = (key: string, value: unknown) =>
    recorded?.[`${object.metadata.name}/${key}`] ??
    createHash("sha256")
      .update(Buffer.from(String(value), "base64"))
      .digest("hex");
  const data = Object.fromEntries(Object.entries(object["data"]).map(([key, value]) => [key, hash(key, value)]));
  return { ...object, data };
}
