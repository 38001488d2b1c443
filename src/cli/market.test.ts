import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryFolder } from "../../test/support/folder.ts";
import { aGroup, aUnit, someInputs } from "../../test/support/samples/decision-samples.ts";
import { cheap } from "../../test/support/samples/failing-orders.ts";
import { gi, volume } from "../../test/support/samples/placement-samples.ts";
import { createWorld, openStage, snapshotNode } from "../../test/support/stages/reservation-stage.ts";
import { decide } from "../bidengine/decision/decide.ts";
import { failedChecks } from "../bidengine/decision/decision.ts";
import { unhealthyLimitMs } from "../cluster/health/monitoring.ts";
import { loadConfig } from "../config/load.ts";
import { bidEngineOf, leasesOf, overcommitOf } from "./market.ts";

test("the provider lets nobody have a name of the cluster's own domain, as the hostname operator does", () => {
  const flags = { "cluster-domain": "k8s.internal", "deployment-blocked-hostnames": ["www.example.com"] };
  const { values } = loadConfig({ flags, env: {}, readFile: () => "" });
  assert.deepEqual(leasesOf(values).hosts.blockedHosts, ["www.example.com", ".k8s.internal"]);
});

test("whether host names are proven is what the hostname operator goes by too", () => {
  for (const isProven of [true, false]) {
    const { values } = loadConfig({ flags: { "hostname-proof": `${isProven}` }, env: {}, readFile: () => "" });
    assert.equal(leasesOf(values).hosts.requiresProof, isProven);
  }
});

test("nothing is bid before services get host names below an ingress domain and the public host name is set", () => {
  const missing = (flags: Record<string, string>) =>
    bidEngineOf(loadConfig({ flags, env: {}, readFile: () => "" }).values).missingSettings;
  const [hosts, name] = [
    "--deployment-ingress-static-hosts (with --deployment-ingress-domain)",
    "--cluster-public-hostname",
  ];
  const domain = { "deployment-ingress-domain": "ingress.example.com" };
  const given = { ...domain, "deployment-ingress-static-hosts": "true" };
  assert.deepEqual(missing({}), [hosts, name]);
  assert.deepEqual(missing(domain), [hosts, name], "a service on port 80 without a host name would be rejected");
  assert.deepEqual(missing(given), [name]);
  assert.deepEqual(missing({ ...given, "cluster-public-hostname": "p.example.com" }), []);
});

test("by default an unhealthy lease has 24 hours, and a replica that asks for no disk gets 1 GiB", () => {
  const { values } = loadConfig({ flags: {}, env: {}, readFile: () => "" });
  assert.equal(unhealthyLimitMs(leasesOf(values).monitor), 24 * 3_600_000);
  assert.equal(overcommitOf(values).defaultDiskBytes, gi);
});

test("an order with a volume alone is not bid on where no node has room for the default disk of its replicas", async (t) => {
  const group = aGroup({ units: [aUnit({ storage: [volume("beta3", gi)], count: 2 })] });
  const verdictBy = async (flags: Record<string, string>) => {
    const overcommit = overcommitOf(loadConfig({ flags, env: {}, readFile: () => "" }).values);
    const stage = await openStage({ ...createWorld(), overcommit }, { dir: memoryFolder(t) });
    const node = snapshotNode("a", { ephemeralBytes: (3n * gi) / 2n, storageClasses: ["beta3"] });
    stage.show({ nodes: [node], storage: [{ class: "beta3", bytes: { allocatable: 100n * gi, allocated: 0n } }] });
    const inputs = someInputs({ request: { group }, context: { capacity: stage.capacity } });
    const decision = await decide(inputs, cheap, t.signal);
    await stage.stop();
    return [decision.verdict, ...failedChecks(decision).map(({ name }) => name)];
  };
  assert.deepEqual(await verdictBy({}), ["no", "placementExists"]);
  assert.deepEqual(await verdictBy({ "default-ephemeral-storage": "512Mi" }), ["bid"]);
});
