/** The host names of leases as the loop of leases keeps them: withheld, had, and gone with the lease. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { leaseConditions } from "../../src/cluster/conditions.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { memoryFolder } from "../support/folder.ts";
import { leaseStage, shop } from "../support/stages/lease-keeper-stage.ts";

const host = { namespace: "lease", name: "shop.example.com" };

test("a lease runs without the name that another of its owner has, and gets it when that one closes", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  const life = await stage.start();
  const [first, second] = [stage.won(1), stage.won(2)];
  const holder = () =>
    stage.cluster.server.get(kinds.providerHost, host)?.metadata.labels?.["akash.network/lease.id.dseq"];
  for (const lease of [first, second]) {
    await life.step(lease);
    await life.send(lease, shop().manifest);
    await stage.until("deployed", () => life.state(lease) === "deployed");
  }
  assert.equal(holder(), "1");
  const [withheld] = life.keeper.states.get(formatLeaseId(second))?.withheld ?? [];
  assert.match(withheld ?? "", /^shop\.example\.com: held by lease .*\/1\/1\/1\/\S+ of the same owner$/);
  assert.deepEqual(leaseConditions(life.keeper), [], "an operator has nothing to mend there");
  stage.becomes(first, "closed");
  await life.step(first);
  await stage.until("it has the name", () => holder() === "2");
  await stage.until("that is told", () => life.keeper.states.get(formatLeaseId(second))?.withheld === undefined);
  await life.stop();
  const { kube } = await stage.start();
  await stage.clock.advance(5_000);
  assert.equal(kube.counts.applied, 0);
});

test("what is left declared of a lease that is over goes, though nothing else of it is there", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  const life = await stage.start();
  const [lease, unknown] = [stage.won(1), stage.won(2)];
  await life.step(lease);
  await life.send(lease, shop().manifest);
  await stage.until("deployed", () => life.state(lease) === "deployed");
  const left = stage.cluster.server.get(kinds.providerHost, host);
  assert.ok(left);
  stage.becomes(lease, "closed");
  await life.step(lease);
  await stage.until("torn down", () => life.state(lease) === undefined);
  assert.equal(stage.cluster.server.get(kinds.namespace, { name: leaseNamespace(lease) }), undefined);
  await life.stop();

  const { labels = {} } = left.metadata;
  const leave = (name: string, dseq: string) => {
    const metadata = { name, namespace: "lease", labels: { ...labels, "akash.network/lease.id.dseq": dseq } };
    const spec = { ...(left["spec"] as object), hostname: name, dseq: Number(dseq) };
    stage.cluster.server.create(kinds.providerHost, { metadata, spec }, "provider-services");
  };
  leave("old.example.com", "1");
  leave("unknown.example.com", "2");
  stage.becomes(unknown, undefined);
  await stage.start();
  const names = () => stage.cluster.server.list(kinds.providerHost).map(({ metadata }) => metadata.name);
  await stage.until("it is gone", () => !names().includes("old.example.com"));
  await stage.clock.advance(60_000);
  // Nobody has said that this one is over.
  assert.deepEqual(names(), ["unknown.example.com"]);
});
