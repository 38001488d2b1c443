/** What the objects of a lease must be like for the server that keeps them, simulated or real. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { leaseObjects } from "../../../src/kube/objects/lease-objects.ts";
import type { DesiredObject, LeaseWorkload } from "../../../src/kube/objects/lease-workload.ts";
import { noOvercommit } from "../../../src/market/fit.ts";
import { leaseNamespace } from "../../../src/market/lease-namespace.ts";
import type { ManifestExpose } from "../../../src/market/manifest.ts";
import { faultsOfManifest } from "../../../src/market/manifest-rules.ts";
import type { Owner } from "../owner.ts";
import { createOwner } from "../owner.ts";
import { anyWorkload } from "../random-workload.ts";
import { objectSettings, sampleExpose, sampleLease, sampleService, sampleWorkload } from "../samples/lease-samples.ts";

const settings = {
  ...objectSettings,
  overcommit: { ...noOvercommit, cpuPercent: 50, memoryPercent: 20, storagePercent: 5 },
};

export interface LeaseStage {
  /** A client that writes under this name, ours unless told. */
  connect(fieldManager?: string): Kube;
  /** Until controllers have had their say. */
  settle(): Promise<void>;
}

interface Contract {
  readonly numRuns: number;
  readonly open: (owner: Owner) => Promise<LeaseStage>;
}

export function leaseObjectsContract({ numRuns, open }: Contract): void {
  let leases = 0n;
  /** Of another lease each time: a namespace is long in going. */
  const anew = (workload: LeaseWorkload): LeaseWorkload => {
    leases += 1n;
    return { ...workload, lease: { ...sampleLease, dseq: leases } };
  };

  test("the server takes every object of a lease, and a new process has nothing to write", async () => {
    const property = fc.asyncProperty(anyWorkload, async (sent) => {
      await using owner = createOwner();
      const { connect, settle } = await open(owner);
      const workload = anew(sent);
      const faults = faultsOfManifest([workload.group]).filter((fault) => !fault.endsWith("zero global services"));
      assert.deepEqual(faults, []);
      await applyAll(connect(), allOf(workload));
      await settle();
      const restarted = connect();
      for (const { kind, object } of allOf(workload)) {
        assert.equal((await restarted.apply(kind, object)).written, false, JSON.stringify(object));
      }
    });
    await fc.assert(property, { numRuns });
  });

  test("a port of the nodes stays the same whatever else is exposed, and both protocols have one", async (t) => {
    const { connect } = await open(t);
    const kube = connect();
    const [tcp, udp] = [game, { ...game, proto: "UDP" as const }];
    const first = anew(exposing(tcp, udp));
    const portsAfter = async (...expose: ManifestExpose[]) => {
      await applyAll(kube, allOf({ ...first, group: exposing(...expose).group }));
      return nodePorts(kube, first);
    };
    const before = await portsAfter(tcp, udp);
    // In a new Service they share one.
    assert.ok(before["7777/TCP"] && before["7777/TCP"] === before["7777/UDP"]);
    assert.deepEqual(await portsAfter({ ...game, port: 1, global: false }, sampleExpose, udp, tcp), before);
    const more = await portsAfter({ ...game, port: 2 }, udp, tcp);
    assert.deepEqual({ ...more, "2/TCP": undefined }, { ...before, "2/TCP": undefined });
  });

  test("a port of the nodes that another provider's lease has stays when its lease becomes ours", async (t) => {
    const { connect } = await open(t);
    const workload = anew(exposing(sampleExpose, game));
    const [namespace, service] = allOf(workload).filter(
      ({ kind, object }) => kind === kinds.namespace || object.metadata.name === "web-np",
    );
    assert.ok(namespace && service);
    const others = connect("provider-services");
    await others.create(namespace.kind, namespace.object);
    await others.create(service.kind, withPortNames(service.object, "1-7777"));
    const before = await nodePorts(others, workload);
    await connect().apply(service.kind, service.object, { force: true });
    assert.deepEqual(await nodePorts(others, workload), before);
    assert.equal((await connect().apply(service.kind, service.object)).written, false);
  });
}

const game: ManifestExpose = { ...sampleExpose, port: 7_777 };

function exposing(...expose: ManifestExpose[]): LeaseWorkload {
  return sampleWorkload(sampleService({ expose }));
}

function allOf(workload: LeaseWorkload): DesiredObject[] {
  const { namespace, policies, credentials, workloads, services } = leaseObjects(workload, settings);
  return [namespace, ...policies, ...credentials, ...workloads, ...services];
}

async function applyAll(kube: Kube, objects: readonly DesiredObject[]): Promise<void> {
  for (const { kind, object } of objects) await kube.apply(kind, object);
}

type Port = Readonly<Record<"name" | "protocol", string> & Record<"port" | "nodePort", number>>;

async function nodePorts(kube: Kube, { lease }: LeaseWorkload): Promise<Record<string, number>> {
  const service = await kube.get(kinds.service, { namespace: leaseNamespace(lease), name: "web-np" });
  const ports = portsOf(service);
  return Object.fromEntries(ports.map(({ port, protocol, nodePort }) => [`${port}/${protocol}`, nodePort]));
}

function portsOf(service: KubeObject | undefined): readonly Port[] {
  assert.ok(service);
  return (service["spec"] as { ports: Port[] }).ports;
}

function withPortNames(service: KubeObject, name: string): KubeObject {
  const ports = portsOf(service).map((port) => ({ ...port, name }));
  return { ...service, spec: { ...(service["spec"] as object), ports } };
}
