/** A lease in the lab for operators: its objects as the provider creates them, created by the test. */

import { randomBytes } from "node:crypto";
import { webImage } from "../../lab/images.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import type { ObjectSettings } from "../../src/kube/objects/container.ts";
import { leaseObjects } from "../../src/kube/objects/lease-objects.ts";
import { manifestResource } from "../../src/kube/objects/manifest-resource.ts";
import { type Address, addressOf } from "../../src/market/address.ts";
import { noOvercommit } from "../../src/market/fit.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import type { ManifestGroup } from "../../src/market/manifest.ts";
import { readSdl } from "../../src/market/sdl/sdl.ts";
import { eventually } from "../support/eventually.ts";
import type { Owner } from "../support/owner.ts";
import { kubectl, podStartsWithinMs } from "./cluster.ts";
import { podsOf } from "./lease-look.ts";

export const randomAddress = (): Address => addressOf(randomBytes(20));

let dseq = BigInt(Date.now());

export function leaseOf(owner: Address, provider: Address): LeaseId {
  dseq += 1n;
  return { owner, dseq, gseq: 1, oseq: 1, provider, bseq: 0 };
}

/**
 * `/` is a page with the name that it is given; a body may be sent to `/cgi-bin/eat`; `/cgi-bin/slow` begins to answer after
 * six seconds, `/cgi-bin/stream` ends after a request of `/cgi-bin/go`, and `/cgi-bin/empty` has an empty body.
 */
function serve(name: string): string {
  const script = (path: string, does: string) =>
    `printf '%s\\n' '#!/bin/sh' 'cat > /dev/null' '${does}' > ${path}; chmod 755 ${path}`;
  const begin = "echo Content-Type: text/plain; echo";
  const untilGo = "while [ ! -e /tmp/go ]; do sleep 0.1; done";
  return [
    "trap 'exit 0' TERM INT; cd /tmp; mkdir -p www/cgi-bin",
    `printf ${name} > www/index.html`,
    script("www/cgi-bin/eat", `${begin}; echo done`),
    script("www/cgi-bin/slow", `sleep 6; ${begin}; echo done`),
    script("www/cgi-bin/stream", `${begin}; echo one; timeout 30 sh -c "${untilGo}"; [ -e /tmp/go ] && echo two`),
    script("www/cgi-bin/go", `touch /tmp/go; ${begin}`),
    script("www/cgi-bin/empty", begin),
    "httpd -f -p 8080 -h www & wait $!",
  ].join("; ");
}

/** One service `web`, whose page is its name, behind these ports. */
export function webGroup(name: string, expose: string, endpoints = ""): ManifestGroup {
  const [group] = readSdl(`
version: "2.1"
${endpoints}
services:
  web:
    image: ${webImage}
    command: [/bin/sh, -c]
    args: [${JSON.stringify(serve(name))}]
    expose: [${expose}]
profiles:
  compute: { one: { resources: { cpu: { units: 0.5 }, memory: { size: 32Mi }, storage: { size: 64Mi } } } }
  placement: { lab: { pricing: { one: { denom: uact, amount: 1000 } } } }
deployment: { web: { lab: { profile: one, count: 1 } } }
`).manifest;
  if (!group) throw new Error("no group");
  return group;
}

const settings: ObjectSettings = {
  overcommit: { ...noOvercommit, cpuPercent: 2_000, memoryPercent: 0, storagePercent: 0 },
  clusterPublicHostname: "lab.invalid",
  policies: { enabled: true, admitted: [{ namespace: "traefik" }], facts: { ranges: [], apiServer: [] } },
};

/** Resolves when its pod answers. Its namespace is deleted with the owner, without waiting. */
export async function exposeLease(
  owner: Owner,
  kube: Kube,
  { lease, group, manifestNamespace }: { lease: LeaseId; group: ManifestGroup; manifestNamespace: string },
): Promise<void> {
  const workload = { lease, group, offer: [] };
  const namespace = leaseNamespace(lease);
  owner.after(async () => void (await kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false")));
  for (const { kind, object } of Object.values(leaseObjects(workload, settings)).flat())
    await kube.apply(kind, kind === kinds.deployment ? onAnyNode(object) : object);
  const note = { version: "00", receivedAtMs: Date.now() };
  await kube.apply(kinds.manifest, manifestResource(workload, note, { manifestNamespace }).object);
  const isReady = async () => (await podsOf(lease, "web")).some((pod) => pod.isReady);
  try {
    await eventually("the workload to be ready", isReady, podStartsWithinMs);
  } catch (cause) {
    throw new Error(await kubectl("describe", "deployments,pods", "-n", namespace), { cause });
  }
}

/** Which nodes are for sale is the matter of other tests, which label this one and take the label away. */
function onAnyNode(deployment: KubeObject): KubeObject {
  const copy = structuredClone(deployment) as KubeObject & { spec: { template: { spec: { affinity?: object } } } };
  delete copy.spec.template.spec.affinity;
  return copy;
}
