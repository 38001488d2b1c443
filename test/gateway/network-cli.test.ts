/** A tenant's day with the network's own tools, which must not notice whose provider it is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { updateDeployment } from "../../src/chain/tx/messages.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { manifestHash } from "../../src/market/manifest.ts";
import { eventually } from "../support/eventually.ts";
import { shop } from "../support/samples/lease-sdl.ts";
import { type CertifiedGatewayStage, startCertifiedGatewayStage } from "../support/stages/certified-gateway-stage.ts";
import { createNetworkCli, type NetworkCli, type Way } from "./network-cli.ts";

/** How a tenant comes: how it begins its day, and how it ends it. */
const ways: readonly { by: string; tools: (stage: CertifiedGatewayStage) => Promise<[Way, Way]> }[] = [
  {
    by: "with a token",
    tools: async ({ tenant: { signer } }) => [
      { tool: "CLI", signer },
      { tool: "CLI", signer },
    ],
  },
  {
    by: "with a certificate, by the CLI and then by Console",
    async tools({ tenant }) {
      const certificate = await tenant.certificate();
      return [
        { tool: "CLI", certificate },
        { tool: "Console", certificate },
      ];
    },
  },
];

test("a tenant's day goes as the network's tools expect it", async (t) => {
  const stage = await startCertifiedGatewayStage(t);
  const days = ways.map(({ by, tools }, index) =>
    t.test(by, async () => {
      const { tenant } = stage;
      const [cli, evening] = (await tools(stage)).map((way) => createNetworkCli(way, stage)) as [
        NetworkCli,
        NetworkCli,
      ];
      const anonymous = createNetworkCli({ tool: "CLI" }, stage);
      assert.equal((await anonymous.status())["address"], stage.provider.address);

      const host = `day-${index}.example.com`;
      const first = shop({ host });
      const lease = await tenant.lease(BigInt(100 + 10 * index), first);
      assert.equal(await eventually("a manifest taken", () => sent(cli, lease, first)), "PASS");
      const { services } = await eventually("its name", async () => {
        const status = await ready(cli, lease);
        return status.services["page"]?.uris?.includes(host) && status;
      });
      const { name, total, uris } = await cli.serviceStatus(lease, "page");
      assert.deepEqual([name, total, uris], ["page", 1, services["page"]?.uris]);
      assert.deepEqual(await cli.getManifest(lease), JSON.parse(JSON.stringify(first.manifest)));

      // The CLI has its own parameter for services, sends no tail, and requires a close frame.
      const logs = await cli.leaseLogs(lease, { services: "page", follow: false });
      await logs.over;
      for (const frame of logs.frames) assert.match(`${frame}`, /^\{"name":"page-\w+-\w+","message":".*"\}\n$/);
      assert.ok(logs.frames.length > 0);
      const followed = await evening.leaseLogs(lease, { services: "store", follow: true });
      await eventually("a followed line", () => followed.frames.some((frame) => /"name":"store-0"/.test(`${frame}`)));
      const events = await cli.leaseEvents(lease, { follow: true });
      await eventually("a followed event", () => events.frames.some((frame) => /"reason":"Started"/.test(`${frame}`)));
      const ran = await cli.leaseShell(lease, "page", ["sh", "-c", "echo $GREETING; exit 3"]);
      assert.deepEqual(ran, { stdout: "hello\n", stderr: "", code: 3 });
      await assert.rejects(cli.leaseShell(lease, "nobody", ["true"]), /^Error: lease shell failed: .*no service/);

      // Another deployment is to have the name, and gets it when it is moved.
      const second = await tenant.lease(lease.dseq + 1n, first);
      assert.equal(await eventually("a manifest taken", () => sent(cli, second, first)), "PASS");
      await ready(cli, second);
      await cli.migrateHostnames([host], second);
      const has = async (id: LeaseId) => (await cli.leaseStatus(id)).services["page"]?.uris?.includes(host);
      await eventually("the name is there", async () => (await has(second)) && !(await has(lease)));

      const newer = shop({ host, page: "example.com/page:2" });
      await tenant.send(updateDeployment(second, manifestHash(newer.manifest)));
      assert.equal(await eventually("an update taken", () => sent(cli, second, newer)), "PASS");
      await eventually("the update runs", async () => {
        const page = await cli.serviceStatus(second, "page");
        return page.observed_generation > 1 && page.ready_replicas === page.total;
      });

      assert.deepEqual(await evening.getManifest(second), JSON.parse(JSON.stringify(newer.manifest)));
      await evening.deleteManifest(second);
      await eventually("nothing of it runs", async () => (await evening.ask("GET", path(second))).status === 404);
      await Promise.all([tenant.close(lease.dseq), tenant.close(second.dseq)]);
      // Followed streams get a close frame: these tools report an error without one.
      await Promise.all([followed.over, events.over]);
      await eventually("it is over", async () => (await cli.ask("GET", path(lease))).status === 404);
      assert.equal(await cli.sendManifest(lease, first), "FAIL 404: no lease for deployment\n");
    }),
  );
  await Promise.all(days);
});

function path({ dseq, gseq, oseq }: LeaseId): string {
  return `/lease/${dseq}/${gseq}/${oseq}/status`;
}

/** The provider may hear of a lease, or of an update, a moment after its tenant. */
async function sent(cli: NetworkCli, lease: LeaseId, sdl: Parameters<NetworkCli["sendManifest"]>[1]) {
  const result = await cli.sendManifest(lease, sdl);
  if (result !== "PASS") throw new Error(result);
  return result;
}

function ready(cli: NetworkCli, lease: LeaseId) {
  return eventually("all of it is ready", async () => {
    const status = await cli.leaseStatus(lease);
    const services = Object.values(status.services);
    return services.length === 2 && services.every((each) => each.ready_replicas === each.total) && status;
  });
}
