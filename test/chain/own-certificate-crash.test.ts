/** The program ends at every boundary on the way of our certificate: made, renewed, replaced. The next one goes on with it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createSimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import {
  type CertificateStore,
  createFileStore,
  createSecretStore,
} from "../../src/gateway/certificate/certificate-store.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { type Boundary, openBoundary } from "../../src/runtime/boundary.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { type CountingBoundary, createCountingBoundary } from "../support/counting-boundary.ts";
import { playCrashes } from "../support/crash-points.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { type CertificateLife, type CertificateStage, day, owner, setUpCertificates } from "./certificate-stage.ts";

type StoreOf = (boundary: Boundary) => CertificateStore;

const stores = {
  file:
    (stage: CertificateStage): StoreOf =>
    (boundary) =>
      createFileStore(join(stage.dir, "certificates.pem"), boundary),
  Secret({ clock }: CertificateStage, t: Owner): StoreOf {
    const cluster = createSimulatedCluster({ nodes: [] }, { clock, random: createSeededRandom(1), log: silentLog });
    t.after(() => cluster.close());
    cluster.server.create(kinds.namespace, { metadata: { name: "akash-services" } }, "test");
    return (boundary) => createSecretStore(cluster.connect("akash-provider", { boundary }), "akash-services", owner);
  },
};

for (const kind of ["file", "Secret"] as const) {
  test(`wherever the program ends, one certificate for each need is on the chain and its key is in the ${kind}`, async (t) => {
    await playCrashes(t, `own-certificate-crash ${kind}`, {
      sample: { every: 13 },
      async whole() {
        const boundary = createCountingBoundary();
        await play(kind, boundary);
        return boundary;
      },
      async crash({ crashAt }) {
        const boundary = createCountingBoundary(crashAt);
        await play(kind, boundary);
        assert.ok(boundary.crashed);
      },
    });
  });
}

async function play(kind: keyof typeof stores, boundary: CountingBoundary): Promise<void> {
  await using t = createOwner();
  const stage = await setUpCertificates(t);
  const storeOf = stores[kind](stage, t);
  const start = (under: Boundary) => stage.start({ store: storeOf(under), boundary: under });
  let isNext = false;
  let life = await start(boundary).catch(() => {
    isNext = true;
    return start(openBoundary);
  });

  /** Does it, and when the program ended on the way, the next one does it. */
  async function survive(work: (on: CertificateLife) => Promise<unknown>): Promise<void> {
    await work(life).catch((thrown: unknown) => {
      if (!boundary.crashed || isNext) throw thrown;
    });
    if (!boundary.crashed || isNext) return;
    await life.stop();
    isNext = true;
    life = await start(openBoundary);
    await work(life);
  }

  async function needs(count: number): Promise<void> {
    await survive(async (on) => {
      for (let blocks = 0; stage.onChain().length < count && blocks < 30; blocks++) await on.block();
      await on.untilServed();
    });
    const last = stage.onChain().at(-1);
    assert.equal(stage.onChain().length, count);
    assert.equal(life.keeper.current?.serial, last?.serial);
    const { certificates } = await storeOf(openBoundary).read(new AbortController().signal);
    for (const { certificate, isValid } of stage.onChain()) {
      const isKept = certificates.some((each) => each.certificate === certificate.toString());
      assert.ok(isKept || !isValid, "a key of what is valid on the chain is lost");
    }
  }

  await needs(1);
  stage.clock.jump(250 * day);
  await survive((on) => on.pass(0));
  await needs(2);
  stage.revoke(...stage.onChain().map(({ serial }) => serial));
  await survive((on) => on.block());
  await needs(3);
  await survive(({ stop }) => stop());
}
