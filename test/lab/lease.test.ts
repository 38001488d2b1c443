/** From lease to workload and back on a real cluster, as the service account of deploy/ and with its roles. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { auditedSince, isWrite, markAudit } from "../../lab/audit.ts";
import { places } from "../../lab/places.ts";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { idLabels, memberLabels, serviceLabel } from "../../src/kube/objects/lease-labels.ts";
import { sharingKey } from "../../src/kube/objects/leased-ip.ts";
import { sharingAnnotation } from "../../src/kube/objects/metallb.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import type { Sdl } from "../../src/market/sdl/sdl.ts";
import { eventually } from "../support/eventually.ts";
import { runCommand } from "../support/live-provider.ts";
import { createOwner } from "../support/owner.ts";
import { kubectl, labIsMissing, podStartsWithinMs, read, shareNode } from "./cluster.ts";
import { inLeaseNamespace, inNamespace, leftOf, podsOf, runningPod, snapshotOf } from "./lease-look.ts";
import { leaseSdl, otherImage, shellImage, webImage } from "./lease-sdl.ts";
import { bodyOf, keyOf, type LeaseStage, type Life, leaseStage } from "./lease-stage.ts";
import { openKube } from "./open-kube.ts";
import { type ProviderAccount, providerAccount } from "./provider-account.ts";
import { grantsOf } from "./provider-manifests.ts";
import { usedBy } from "./used-grants.ts";

type Snapshot = Record<string, unknown>;
/** The objects when deployed and when updated, without a kill. */
interface Snapshots {
  readonly deployed: Snapshot;
  readonly updated: Snapshot;
}

describe("a lease in the lab", { skip: labIsMissing }, () => {
  const owner = createOwner();
  let account: ProviderAccount;
  let stage: LeaseStage;
  let admin: Kube;
  let uninterrupted: Snapshots;
  let endTurn: () => void = () => undefined;
  const leases = new Set<LeaseId>();

  before(async () => {
    endTurn = await shareNode("lease");
    account = await providerAccount(owner);
    stage = await leaseStage(owner, account);
    admin = openKube(owner, places.kubeconfig, { fieldManager: "observer" });
  });
  after(async () => {
    // Of a lease that did not come to its end.
    const left = [...leases].map(leaseNamespace);
    if (left.length > 0) await kubectl("delete", "namespace", "--ignore-not-found", ...left);
    await owner[Symbol.asyncDispose]();
    endTurn();
  });

  async function win(dseq: bigint, sdl: Sdl): Promise<LeaseId> {
    const lease = await stage.win(dseq, sdl);
    leases.add(lease);
    return lease;
  }

  const sends = (deployment: LeaseId, sdl: Sdl): Life => ({
    sends: { deployment, body: bodyOf(sdl) },
    until: { lease: keyOf(deployment), isSo: "deployed" },
  });
  const until = (lease: LeaseId, isSo: "settled" | "gone"): Life => ({ until: { lease: keyOf(lease), isSo } });
  /** As the provider's account, in a tenant's container. */
  async function runsCommands(lease: LeaseId, service: string): Promise<void> {
    const namespace = leaseNamespace(lease);
    const own = openKube(owner, account.kubeconfig);
    const [pod] = await own.list(kinds.pod, { namespace, labelSelector: `${serviceLabel}=${service}` });
    const session = await own.exec({ namespace, name: pod?.metadata.name ?? "" }, { command: ["true"] });
    assert.equal(await session.exit, 0);
  }
  /** Without the leased address: which life of the provider sees it first depends on the machine. */
  async function snapshot(lease: LeaseId): Promise<Snapshot> {
    const objects: Snapshot = await snapshotOf(admin, lease, account.leaseNamespace);
    const { data: _, ...addresses } = fieldsOf(objects["configmaps akash-addresses"]);
    return { ...objects, "configmaps akash-addresses": addresses };
  }

  it("becomes two services under the roles of deploy/, is updated and goes, with each verb used and none missing", async () => {
    const begun = await markAudit();
    const host = "web-7001.example.com";
    const first = leaseSdl({ host });
    const lease = await win(7001n, first);
    await stage.live({ ...sends(lease, first), writesEvent: true });
    await runningPod(lease, "web", webImage);
    const keeper = await runningPod(lease, "keeper", shellImage);
    assert.deepEqual(await claims(lease), ["Bound"]);
    assert.equal(await pageOf(lease, "web"), "hello from the lab\n");
    const deployed = await snapshot(lease);
    assert.ok(
      Object.keys(deployed).some((name) => name.startsWith("providerhosts")),
      Object.keys(deployed).join(),
    );

    await giveAddress(lease);
    await runsCommands(lease, "keeper");
    const running = await stage.start();
    const { stdout } = await runCommand("leases", "--json", "--data-dir", stage.dir);
    await running.stop();
    assert.equal(JSON.parse(stdout).leased.cpuMilli, "40");

    const second = leaseSdl({ host, image: otherImage });
    await stage.update(lease, second);
    await stage.live(sends(lease, second));
    await runningPod(lease, "web", otherImage);
    assert.deepEqual(await podsOf(lease, "keeper"), [keeper], "its pod is the same");
    uninterrupted = { deployed, updated: await snapshot(lease) };

    const rest = await markAudit();
    await stage.live(until(lease, "settled"));
    assert.deepEqual((await auditedSince(rest, account.user)).filter(isWrite), [], "a restart writes nothing");

    await leaveBehind(lease);
    const granted = await tenantsGrants(lease);
    const renamed = { host: "other-7001.example.com", names: ["site", "archive"], extras: false } as const;
    const third = leaseSdl({ ...renamed, keeperImage: `${shellImage}-missing` });
    await stage.update(lease, third);
    await stage.live(sends(lease, third));
    await runningPod(lease, "site", webImage);
    const madeArchive = async () => (await podsOf(lease, "archive")).length === 1;
    await eventually("a pod of what is misspelt", madeArchive, podStartsWithinMs);

    const fourth = leaseSdl(renamed);
    await stage.update(lease, fourth);
    await stage.live(sends(lease, fourth));
    const mending = await stage.start();
    // Its set waits for the pod of before, which never starts.
    await runningPod(lease, "archive", shellImage);
    await mending.stop();
    await eventually("the old ones to go", async () => (await podsOf(lease, "web")).length === 0, podStartsWithinMs);

    await stage.close(lease);
    await stage.live(until(lease, "gone"));
    await nothingLeft(lease);

    await askAsLaggingCaches(lease);
    const requests = await auditedSince(begun, account.user);
    assert.deepEqual(
      requests.filter(({ code }) => code === 403),
      [],
    );
    // Its pod alone holds the Lease: deployed-provider.ts.
    const held = ["get", "create", "update"].map((verb) => `${verb} leases.coordination.k8s.io`);
    const used = new Set([...requests.flatMap(usedBy), ...granted, ...held]);
    assert.deepEqual([...account.grants].filter((grant) => !used.has(grant)).sort(), [], "granted and never used");
  });

  it("comes to the same end when the provider is killed after every kind of write", async (t) => {
    const first = leaseSdl({ host: "web-7002.example.com" });
    const lease = await win(7002n, first);
    const deploying = await stage.liveAndDie(sends(lease, first));
    assert.deepEqual(await snapshot(lease), uninterrupted.deployed);
    await giveAddress(lease);
    await runningPod(lease, "web", webImage);
    const keeper = await runningPod(lease, "keeper", shellImage);

    const second = leaseSdl({ host: "web-7002.example.com", image: otherImage });
    await stage.update(lease, second);
    const updating = await stage.liveAndDie(sends(lease, second));
    assert.deepEqual(await snapshot(lease), uninterrupted.updated);
    await runningPod(lease, "web", otherImage);
    assert.deepEqual(await podsOf(lease, "keeper"), [keeper], "its pod is the same");

    await stage.close(lease);
    const closing = await stage.liveAndDie(until(lease, "gone"));
    await nothingLeft(lease);
    t.diagnostic(
      `killed at ${deploying.length} boundaries of a deploy, ${updating.length} of an update, ${closing.length} of a teardown`,
    );
    // What else is crossed depends on which writes are under way together and which units share a commit.
    assertKilledAfter(deploying, ["apply namespaces", "apply manifests.akash.network"]);
    assertKilledAfter(updating, ["apply manifests.akash.network", "apply deployments.apps"]);
    assertKilledAfter(closing, ["delete namespaces", "delete manifests.akash.network"]);
  });

  function assertKilledAfter(killed: readonly string[], writes: readonly string[]): void {
    const wasKilled = (write: string, point: "after" | "sent") =>
      killed.includes(`kube ${write.replace(" ", `:${point} `)}`);
    assert.deepEqual(
      writes.filter((write) => !wasKilled(write, "after") && !wasKilled(write, "sent")),
      [],
      `killed only at ${killed.join("; ")}`,
    );
  }

  /** As the IP operator and MetalLB do, so that the manifests that follow need not wait for one. */
  async function giveAddress(lease: LeaseId): Promise<void> {
    const [namespace, name] = [leaseNamespace(lease), "web-ip-9001-tcp"];
    const labels = { ...idLabels(lease), "akash.network/service-target": "metal-lb" };
    const annotations = { [sharingAnnotation]: sharingKey(lease.owner, "public") };
    const ports = [{ port: 9001, targetPort: 9001, protocol: "TCP" }];
    await admin.apply(kinds.service, {
      metadata: { name, namespace, labels, annotations },
      spec: { type: "LoadBalancer", selector: { [serviceLabel]: "web" }, ports },
    });
    const status = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } } });
    const flags = ["--namespace", namespace, "--subresource", "status", "--type", "merge", "--patch", status];
    await kubectl("patch", "service", name, ...flags);
  }

  /** The provisioner removes a volume when its claim is gone, in its own time. */
  async function nothingLeft(lease: LeaseId): Promise<void> {
    let left: readonly string[] = [];
    const isGone = async () => {
      left = await leftOf(admin, lease);
      return left.length === 0;
    };
    await eventually("everything of it to go", isGone, podStartsWithinMs).catch(() => assert.deepEqual(left, []));
  }

  async function claims(lease: LeaseId): Promise<string[]> {
    const objects = await admin.list(kinds.persistentVolumeClaim, { namespace: leaseNamespace(lease) });
    return objects.map(({ status }) => (status as { phase: string }).phase);
  }

  async function pageOf(lease: LeaseId, service: string): Promise<string> {
    const path = `/api/v1/namespaces/${leaseNamespace(lease)}/services/${service}`;
    const { spec } = await read<{ spec: { clusterIP: string } }>(path);
    return eventually("its page", async () => (await fetch(`http://${spec.clusterIP}/`)).text(), podStartsWithinMs);
  }

  /** An apply reads the object itself if its cache lags behind the last write, which is a race. */
  async function askAsLaggingCaches(lease: LeaseId): Promise<void> {
    const kube = openKube(owner, account.kubeconfig);
    const ask = (namespace: string) => (kind: Kind) => kube.get(kind, { namespace, name: "any" });
    await Promise.all(inNamespace.map(ask(leaseNamespace(lease))));
    await Promise.all(inLeaseNamespace.map(ask(account.leaseNamespace)));
  }

  /** No manifest of one group drops its addresses, so their ConfigMap is left over by an earlier life only. */
  async function leaveBehind(lease: LeaseId): Promise<void> {
    const own = openKube(owner, account.kubeconfig);
    const metadata = { name: "left-behind", namespace: leaseNamespace(lease), labels: memberLabels(lease) };
    await own.apply(kinds.configMap, { metadata, data: {} });
  }

  /** The tenant's read permissions, which RBAC lets only their holder grant. */
  async function tenantsGrants(lease: LeaseId): Promise<Set<string>> {
    return grantsOf(await admin.list(kinds.role, { namespace: leaseNamespace(lease) }));
  }
});
