/** Crashes at every step of a manifest; the tenant repeats unanswered requests, and the final state is always the same. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { deploymentOf, formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { type ManifestGroup, manifestHash } from "../../src/market/manifest.ts";
import { type CountingBoundary, createCountingBoundary } from "../support/counting-boundary.ts";
import { playCrashes } from "../support/crash-points.ts";
import { bodyOf, versionOf, webWish } from "../support/samples/manifest-samples.ts";
import { type ManifestStage, onManifestStage, type RunningManifests } from "../support/stages/manifest-stage.ts";

const timeoutMs = 10_000;
const [first, second] = [webWish(), webWish({ image: "web:2" })];

/** What is left of it: rows without their times, what the chain says, and what was sent to it. */
interface End {
  readonly rows: readonly unknown[];
  readonly leases: readonly string[];
  readonly closings: number;
  readonly deadlines: readonly string[];
}

interface Played {
  readonly end: End;
  readonly crossings: readonly string[];
  readonly crashed: boolean;
}

test("after a crash at any boundary of a manifest's way all comes to the same end", async (t) => {
  await playCrashes(t, "manifest-crash", {
    sample: { every: 3, about: /manifest|lease ending/ },
    async whole() {
      const whole = await play(t, 0);
      assert.deepEqual(whole.end.leases, ["active 0", "active 0", "closed 10003", "active 0"]);
      assert.equal(whole.end.closings, 1);
      assert.deepEqual(whole.end.deadlines, []);
      return whole;
    },
    async crash({ crashAt }, whole) {
      const { end, crashed } = await play(t, crashAt);
      assert.ok(crashed);
      assert.deepEqual(end, whole.end);
    },
  });
});

async function play(t: TestContext, crashAt: number): Promise<Played> {
  let played: Played | undefined;
  await onManifestStage(t, async (stage) => {
    played = await playOn(stage, createCountingBoundary(crashAt));
  });
  assert.ok(played);
  return played;
}

async function playOn(stage: ManifestStage, boundary: CountingBoundary): Promise<Played> {
  // Of a journal before this one.
  const found = await stage.leased(4n, first);
  const [group] = first.manifest as [ManifestGroup];
  const version = versionOf(first.manifest);
  stage.cluster.records.set(formatLeaseId(found), { version, group, receivedAtMs: stage.clock.now() });
  const mortal = stage.start({ timeoutMs, boundary });
  mortal.ready.catch(() => undefined);
  let revived: Promise<RunningManifests> | undefined;
  async function revive(): Promise<RunningManifests> {
    await mortal.stop().catch(() => undefined);
    return stage.running({ timeoutMs });
  }
  function current(): Promise<RunningManifests> {
    if (!boundary.crashed) return mortal.ready;
    revived ??= revive();
    return revived;
  }
  /** A tenant's request, repeated until it is answered. */
  async function ask<T>(request: (running: RunningManifests) => Promise<T>): Promise<T> {
    const called = current();
    try {
      return await request(await called);
    } catch (thrown) {
      if (called === current()) throw thrown;
      return ask(request);
    }
  }

  await ask(async () => undefined);
  const kept = await stage.leased(1n, first);
  await ask(({ manifests }) => manifests.submit(deploymentOf(kept), bodyOf(first.manifest)));
  const taken = await stage.leased(2n, first);
  await ask(({ manifests }) => manifests.submit(deploymentOf(taken), bodyOf(first.manifest)));
  const silent = await stage.leased(3n, first);
  const leases = [kept, taken, silent, found];
  await stage.update(deploymentOf(kept), manifestHash(second.manifest));
  await ask(({ manifests }) => manifests.submit(deploymentOf(kept), bodyOf(second.manifest)));
  await ask(({ manifests }) => manifests.withdraw(deploymentOf(kept)));
  await ask(({ manifests }) => manifests.submit(deploymentOf(kept), bodyOf(second.manifest)));
  await ask(({ manifests }) => manifests.withdraw(deploymentOf(taken)));
  await stage.until("the silent one is closed", async () => {
    await current();
    return (await stage.queries.lease(silent)).value?.state === "closed";
  });
  await stage.pass(timeoutMs);
  const { journal } = await current();
  await stage.until("its deadline is gone", () => journal.read.deadlines.subjects("manifest").length === 0);
  const intents = leases.flatMap((lease) => journal.read.intents.about(formatLeaseId(lease)));
  const end: End = {
    rows: leases.map((lease) => {
      const { version, withdrawnAtMs } = journal.read.manifests.get(formatLeaseId(lease)) ?? {};
      return [version, withdrawnAtMs !== undefined];
    }),
    leases: await Promise.all(leases.map((lease) => stateOf(stage, lease))),
    closings: intents.filter(({ state }) => state === "done").length,
    deadlines: journal.read.deadlines.subjects("manifest"),
  };
  return { end, crossings: [...boundary.crossings], crashed: boundary.crashed };
}

async function stateOf({ queries }: ManifestStage, lease: LeaseId): Promise<string> {
  const { value } = await queries.lease(lease);
  return `${value?.state} ${value?.reason}`;
}
