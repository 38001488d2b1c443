/** Both operators in their pods, from our image and deploy/: one works, its copy waits, and takes over when the first is gone. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { type AuditedRequest, type AuditMark, auditedSince, isWrite, markAudit } from "../../lab/audit.ts";
import { providerImage } from "../../lab/images.ts";
import { places } from "../../lab/places.ts";
import { fieldsOf, recordsOf, textOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import { leaderDurationMs } from "../../src/kube/leadership.ts";
import { leasedIp } from "../../src/kube/objects/leased-ip.ts";
import { providerHost } from "../../src/kube/objects/provider-host.ts";
import { eventually } from "../support/eventually.ts";
import { createOwner } from "../support/owner.ts";
import { declarationOf } from "../support/stages/ip-stage.ts";
import { kubectl, labIsMissing, podStartsWithinMs, takeMetalLb, takeRoutes } from "./cluster.ts";
import { exposeLease, leaseOf, randomAddress, webGroup } from "./exposed-lease.ts";
import { openKube } from "./open-kube.ts";
import {
  applyFor,
  type OperatorName,
  type OperatorPlaces,
  ofPods,
  operatorManifests,
  operatorPlaces,
  operatorUser,
} from "./operator-account.ts";
import { addresses, bringMetalLb, makeNamespace } from "./played-metallb.ts";
import { ask } from "./requests.ts";
import { usedBy } from "./used-grants.ts";

const operators = ["hostname", "ip"] as const;
const domain = `${randomBytes(4).toString("hex")}.lab.invalid`;

describe("the operators in their pods", { skip: labIsMissing }, () => {
  const owner = createOwner();
  const provider = randomAddress();
  const lease = leaseOf(randomAddress(), provider);
  const turns: (() => void)[] = [];
  let admin: Kube;
  let own: OperatorPlaces;
  let begun: AuditMark;

  before(async () => {
    turns.push(await takeRoutes(), await takeMetalLb());
    admin = openKube(owner, places.kubeconfig);
    own = await operatorPlaces(owner);
    await makeNamespace(owner);
    const metalLb = await bringMetalLb(owner);
    await metalLb.setPool("default", `${addresses[2]}-${addresses[3]}`);
    begun = await markAudit();
    const env = {
      hostname: { AP_INGRESS_PROVIDER: "traefik", AP_INGRESS_CLASS: "traefik" },
      ip: { AP_PROVIDER: provider, AP_METAL_LB_POOL: "default" },
    };
    for (const name of operators)
      await applyFor(owner, operatorManifests(name, own).map(inLab({ ...env[name], AP_K8S_MANIFEST_NS: own.lease })));
    const expose = [
      "{ port: 8080, as: 80, to: [{ global: true }] }",
      "{ port: 8080, as: 81, to: [{ global: true, ip: blue }] }",
    ].join();
    const group = webGroup("page", expose, "endpoints: { blue: { kind: ip } }");
    await exposeLease(owner, admin, { lease, group, manifestNamespace: own.lease });
  });
  after(async () => {
    await owner[Symbol.asyncDispose]();
    for (const end of turns) end();
  });

  const nameOf = (operator: OperatorName) => `operator-${operator}`;
  async function podsOf(operator: OperatorName): Promise<{ name: string; isReady: boolean }[]> {
    const labelSelector = `app.kubernetes.io/instance=${operator}-service`;
    const pods = await admin.list(kinds.pod, { namespace: own.services, labelSelector });
    return pods
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata, status }) => ({
        name: metadata.name,
        isReady: recordsOf(fieldsOf(status)["conditions"]).some(
          (each) => each["type"] === "Ready" && each["status"] === "True",
        ),
      }));
  }
  const areReady = (operator: OperatorName, count: number) =>
    eventually(
      `${count} of ${operator}`,
      async () => {
        const pods = await podsOf(operator);
        return pods.length === count && pods.every(({ isReady }) => isReady) && pods.map(({ name }) => name);
      },
      podStartsWithinMs,
    );
  /** The name of the pod that leads. */
  async function leaderOf(operator: OperatorName): Promise<string | undefined> {
    const held = await admin.get(kinds.lease, { namespace: own.services, name: nameOf(operator) });
    const holder = textOf(fieldsOf(held?.["spec"])["holderIdentity"]) ?? "";
    return (await podsOf(operator)).find(({ name }) => holder.startsWith(name))?.name;
  }
  const requestsOf = (operator: OperatorName, since: AuditMark) => auditedSince(since, operatorUser(operator, own));
  const written = (requests: readonly AuditedRequest[], pod: string) =>
    requests.filter((each) => each.pod === pod && isWrite(each)).map(({ verb, resource }) => `${verb} ${resource}`);

  async function declare(host: string, externalPort: number): Promise<void> {
    const to = { manifestNamespace: own.lease };
    const declared = { lease, host, service: "web", externalPort: 80 };
    await admin.apply(kinds.providerHost, providerHost(declared, to).object);
    await admin.apply(kinds.providerLeasedIp, leasedIp(declarationOf(lease, { externalPort }), to).object);
  }
  /** The first copies find no Lease and wait before they lead. */
  const answers = (host: string, at?: string) =>
    eventually(
      `${host} to answer`,
      async () => {
        const { status, body } = await ask(host, at === undefined ? {} : { at });
        if (status !== 200 || body !== "page") throw new Error(`${status} ${body}`);
        return true;
      },
      podStartsWithinMs + leaderDurationMs,
    );

  it("become ready and do their work; nothing is rejected to them, and what they may do at home they need", async () => {
    for (const each of operators) await areReady(each, 1);
    await declare(`one.${domain}`, 81);
    await answers(`one.${domain}`);
    await answers("page", `${addresses[2]}:81`);
    for (const each of operators) {
      const requests = await requestsOf(each, begun);
      assert.deepEqual(
        requests.filter(({ code }) => code === 403),
        [],
      );
      // The leader renews its lease some seconds later.
      await eventually("every right of theirs to be used", async () => {
        const used = new Set((await requestsOf(each, begun)).flatMap(usedBy));
        return ofPods.every((grant) => used.has(grant));
      });
    }
  });

  it("a second copy waits and writes nothing; when the first is gone, it takes over", async (t) => {
    for (const each of operators)
      await kubectl("scale", "-n", own.services, "deployment", nameOf(each), "--replicas=2");
    for (const each of operators) await areReady(each, 2);
    const leaders = await Promise.all(operators.map(leaderOf));
    const mark = await markAudit();
    await declare(`two.${domain}`, 82);
    await answers(`two.${domain}`);
    await eventually("the address of another port", async () =>
      (await requestsOf("ip", mark)).some((each) => isWrite(each) && each.resource === "services"),
    );
    for (const [at, each] of operators.entries()) {
      const second = (await podsOf(each)).find(({ name }) => name !== leaders[at])?.name ?? "";
      const requests = await requestsOf(each, mark);
      assert.deepEqual(written(await requestsOf(each, begun), second), []);
      assert.notDeepEqual(written(requests, leaders[at] ?? ""), []);
      const looks = ({ pod, verb, resource }: AuditedRequest) =>
        pod === second && `${verb} ${resource}` === "get leases.coordination.k8s.io";
      await eventually("it to look whether the first is there", async () => (await requestsOf(each, mark)).some(looks));
    }
    const startMs = performance.now();
    await kubectl("delete", "pod", "-n", own.services, "--wait=false", ...leaders.map((name) => name ?? ""));
    await declare(`three.${domain}`, 83);
    await answers(`three.${domain}`);
    await eventually("the new port", async () => {
      const at = `${addresses[2]}:83`;
      return (await ask("page", { at })).status === 200;
    });
    t.diagnostic(`others took over within ${Math.round(performance.now() - startMs)} ms`);
    const now = await Promise.all(operators.map(leaderOf));
    for (const [at, name] of now.entries()) assert.notEqual(name, leaders[at]);
    for (const each of operators)
      assert.deepEqual(
        (await requestsOf(each, begun)).filter(({ code }) => code === 403),
        [],
      );
  });
});

/** With the lab's image, and these variables in place of those of the same name. */
function inLab(env: Readonly<Record<string, string>>): (object: KubeObject) => KubeObject {
  return (object) => {
    if (object.kind !== "Deployment") return object;
    const copy = structuredClone(object) as KubeObject & {
      spec: { template: { spec: { containers: { image: string; env: { name: string }[] }[] } } };
    };
    for (const container of copy.spec.template.spec.containers) {
      container.image = providerImage;
      const others = container.env.filter(({ name }) => env[name] === undefined);
      container.env = [...others, ...Object.entries(env).map(([name, value]) => ({ name, value }))];
    }
    return copy;
  };
}
