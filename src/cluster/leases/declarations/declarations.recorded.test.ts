/** What workloads are declared to want, held against the resources that the Go provider made for the same manifests. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { recordedLeases } from "../../../../test/support/samples/recorded-leases.ts";
import { readLeasedIp } from "../../../kube/objects/leased-ip.ts";
import { readProviderHost } from "../../../kube/objects/provider-host.ts";
import { addressesWanted } from "../../capacity/addresses/lease-addresses.ts";
import { hostsWanted } from "./hostnames.ts";

/** What that provider leaves behind, takes from everybody or cannot change. */
const faults = ["ip-rename/objects-1", "ip-update/objects-1", "ip-update-port/objects-1"];
/** Another lease of the owner had the name or the port. */
const withheld = ["host-dest/objects.", "gateway-dest/objects.", "ip-same/objects.", "ip-migrate/"];

test("the declared host names and ports are those that are wanted", () => {
  let count = 0;
  for (const { from, workload, objects } of recordedLeases()) {
    if ([...faults, ...withheld].some((each) => from.includes(`objects/${each}`))) continue;
    const hosts = objects.filter(({ kind }) => kind === "ProviderHost").flatMap((each) => readProviderHost(each) ?? []);
    const wantedHosts = hostsWanted(workload, { staticHostDomain: "ingress.lab.test" });
    assert.deepEqual(byText(hosts.map(({ lease: _, ...host }) => host)), byText(wantedHosts), from);
    const ports = objects.filter(({ kind }) => kind === "ProviderLeasedIP").flatMap((each) => readLeasedIp(each) ?? []);
    const wantedPorts = addressesWanted(workload).map(({ endpoint: _, ...port }) => port);
    assert.deepEqual(byText(ports.map(({ lease: _, ...port }) => port)), byText(wantedPorts), from);
    count += 1;
  }
  assert.ok(count > 40, `only ${count} were recorded`);
});

function byText(values: readonly object[]): string[] {
  return values.map((value) => JSON.stringify(Object.entries(value).sort())).sort();
}
