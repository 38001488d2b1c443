/** Usage of a lease by the lab's metrics API: read by the command, as the service account of deploy/. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shellImage } from "../../lab/images.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { readSdl } from "../../src/market/sdl/sdl.ts";
import { eventually } from "../support/eventually.ts";
import { runCommand } from "../support/live-provider.ts";
import { createOwner } from "../support/owner.ts";
import { busyCommand, heldBytes } from "./busy.ts";
import { labIsMissing, podStartsWithinMs, read, removeNamespace } from "./cluster.ts";
import { bodyOf, keyOf, leaseStage } from "./lease-stage.ts";
import { providerAccount } from "./provider-account.ts";

/** Two replicas that work as hard as they may. */
const busy = readSdl(
  JSON.stringify({
    version: "2.0",
    services: {
      busy: { image: shellImage, command: busyCommand, expose: [{ port: 80, to: [{ global: true }] }] },
    },
    profiles: {
      compute: { busy: { resources: { cpu: { units: 0.05 }, memory: { size: "96Mi" }, storage: { size: "64Mi" } } } },
      placement: { lab: { pricing: { busy: { denom: "uact", amount: 1000 } } } },
    },
    deployment: { busy: { lab: { profile: "busy", count: 2 } } },
  }),
);
const mi = 2n ** 20n;

describe("what a lease uses in the lab", { skip: labIsMissing }, () => {
  it("is shown beside what is leased, of all replicas together", async () => {
    await using owner = createOwner();
    const stage = await leaseStage(owner, await providerAccount(owner));
    const lease = await stage.win(7101n, busy);
    owner.after(() => removeNamespace(leaseNamespace(lease)));
    await stage.live({
      sends: { deployment: lease, body: bodyOf(busy) },
      until: { lease: keyOf(lease), isSo: "deployed" },
    });
    const metrics = `/apis/metrics.k8s.io/v1beta1/namespaces/${leaseNamespace(lease)}/pods`;
    const areMeasured = async () => (await read<{ items: unknown[] }>(metrics)).items.length === 2;
    // Checked before the program's command, whose start takes a thousand times the work.
    await eventually("both pods to be measured", areMeasured, 2 * podStartsWithinMs);
    const { stop } = await stage.start();
    const ask = async (...options: string[]) =>
      (await runCommand("leases", "--data-dir", stage.dir, ...options)).stdout;
    const { leased, usage } = await eventually(
      "both to be measured at work",
      async () => {
        const line = JSON.parse(await ask("--json"));
        const isBoth = "cpuNano" in line.usage && BigInt(line.usage.memoryBytes) >= 2n * heldBytes;
        return isBoth && BigInt(line.usage.cpuNano) > 60_000_000n && line;
      },
      2 * podStartsWithinMs,
    );
    assert.deepEqual(leased, {
      cpuMilli: "100",
      memoryBytes: `${192n * mi}`,
      storageBytes: `${128n * mi}`,
    });
    assert.ok(BigInt(usage.cpuNano) < 150_000_000n, `${usage.cpuNano}: held by its limit`);
    assert.ok(BigInt(usage.memoryBytes) < 192n * mi, usage.memoryBytes);
    const line = /deployed +\d\/\d +\d+m of 100m +\d+(\.\d)?Mi of 192Mi +\? of 128Mi /;
    // Health is unknown until all caches of a provider that has just started are filled.
    await eventually("the line with its health", async () => line.test(await ask()));
    await stop();
  });
});
