/** MetalLB's own counts beside ours, where a pool has addresses of IPv6, or of both families. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { addressUsageMs } from "../../src/operators/ip/operator.ts";
import { eventually } from "../support/eventually.ts";
import type { Owner } from "../support/owner.ts";
import { openIpStage } from "../support/stages/ip-stage.ts";

/** A page of metrics, as MetalLB's controller has it. */
async function servePage(owner: Owner) {
  const counts = { total: "0", inUse: "0", requests: 0 };
  const server = createServer((_, answer) => {
    counts.requests += 1;
    const lines = [
      `metallb_allocator_addresses_in_use_total{pool="default"} ${counts.inUse}`,
      `metallb_allocator_addresses_total{pool="default"} ${counts.total}`,
    ];
    answer.end(`${lines.join("\n")}\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  owner.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { counts, endpoint: { host: "127.0.0.1", port: (server.address() as AddressInfo).port } };
}

const cases: readonly (readonly [string, readonly string[], string])[] = [
  ["a /64 of IPv6", ["2001:db8::/64"], "9.223372036854776e+18"],
  ["more IPv6 addresses than a float represents exactly", ["2001:db8::-2001:db8::80:0:0:0"], "3.602879701896397e+16"],
  ["both families", ["192.0.2.0/30", "2001:db8::/126"], "8"],
  ["IPv4 and an endless range", ["192.0.2.0/30", "2001:db8::/64"], "-9.223372036854776e+18"],
];
for (const [what, addresses, total] of cases) {
  test(`a pool of ${what} is counted as MetalLB counts it`, async (t) => {
    const { counts, endpoint } = await servePage(t);
    counts.total = total;
    const stage = await openIpStage(t, {
      ...{ pool: "", operator: { metalLb: endpoint } },
      ...(addresses.every((range) => range.includes(":")) && { clusterIp: "fd00::1" }),
    });
    stage.setPool("default", addresses);
    const types = () => stage.operator.conditions.map(({ type }) => type).join();
    /** A real socket takes real time: a minute passes at each look. */
    const comes = (wanted: string, look: () => boolean) =>
      eventually(wanted, async () => {
        await stage.settled(addressUsageMs);
        return look();
      });
    await comes("four rounds", () => counts.requests > 4);
    assert.equal(types(), "");
    counts.inUse = "1";
    await comes("the difference", () => types() === "CountsDiffer");
  });
}
