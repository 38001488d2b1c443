/**
 * What our apply costs over a bare loop of the same requests, what it writes when nothing has changed (by the API server's
 * own audit log), and how soon something of ours that was edited or deleted by hand is back.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { controlPlaneMissing, type OwnControlPlane, startControlPlane } from "../lab/own-control-plane.ts";
import { kinds } from "../src/kube/kinds.ts";
import type { Kube } from "../src/kube/kube.ts";
import { inParallel } from "../src/runtime/in-parallel.ts";
import { openKube } from "../test/lab/open-kube.ts";
import { eventually } from "../test/support/eventually.ts";
import { createOwner, type Owner } from "../test/support/owner.ts";
import { createBareApply } from "./bare-apply.ts";
import { applyOne, startKeeper, watchLive } from "./keeper.ts";
import { type DesiredObject, leaseObjects } from "./lease-objects.ts";
import { inTurn, medianRatio, report, round, size } from "./report.ts";

const namespace = "default";
const wishes = leaseObjects(namespace, size(50, 5));
/** Requests under way at once, on both sides. */
const width = 8;
const rounds = size(15, 1);
/** Objects that are edited, and others that are deleted, by hand and all at once. */
const meddledWith = size(40, 5);
/** There is no baseline for the time until an object is restored, so its bar is absolute. */
const bars = { ratio: ["≥", 0.7], restoredS: ["≤", 10] } as const;

export async function bench(): Promise<void> {
  const missing = controlPlaneMissing();
  if (missing) return console.log(`not run: ${missing}`);
  await using owner = createOwner();
  const plane = await startControlPlane(owner);
  const kube = openKube(owner, plane.kubeconfig);
  const bare = createBareApply(plane, kube.fieldManager);
  owner.after(() => bare.close());

  let words = 0;
  const pairs = await inTurn(
    rounds,
    () => ourRound(kube, `ours ${++words}`),
    () => {
      const word = `bare ${++words}`;
      return perSecond(({ kind, desired }) => bare.apply(kind, desired(word)));
    },
  );
  const rows = pairs.map(({ ours, baseline }, at) => {
    return { round: at + 1, ours: Math.round(ours), bare: Math.round(baseline), ratio: round(ours / baseline) };
  });
  await ourRound(kube, "final");
  const unchangedRequests = await writesWhile(plane, kube, () => applyAgain(owner, plane, kube, "final"));
  assert.equal(unchangedRequests, 0, "objects that had not changed were written");
  const restoredS = await meddle(owner, plane, kube, "final");
  console.log(`${wishes.length} objects, ${width} at a time`);
  console.log(`edited or deleted by hand: ${2 * meddledWith} objects, all back within ${restoredS} s`);
  const ratio = medianRatio(pairs, (perS) => perS);
  report("objects applied per second", rows, { bench: "apply", ratio, unchangedRequests, restoredS }, bars);
}

/** As the provider will do it: a cache of our fields is kept up to date meanwhile. */
async function ourRound(kube: Kube, word: string): Promise<number> {
  const live = await watchLive(kube, namespace);
  try {
    return await perSecond(async (wished) => {
      const { written } = await applyOne(kube, live, wished, word);
      if (!written) throw new Error(`${wished.at.name} was not written`);
    });
  } finally {
    for (const cache of live.values()) await cache.close();
  }
}

async function perSecond(work: (wished: DesiredObject) => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await inParallel(wishes, width, work);
  return wishes.length / ((performance.now() - startedMs) / 1_000);
}

/** With caches, without any, and as a process that was just started. */
async function applyAgain(owner: Owner, plane: OwnControlPlane, kube: Kube, word: string): Promise<void> {
  const live = await watchLive(kube, namespace);
  await perSecond(async (wished) => void (await applyOne(kube, live, wished, word)));
  for (const cache of live.values()) await cache.close();
  const restarted = openKube(owner, plane.kubeconfig);
  for (const each of [kube, restarted]) {
    await perSecond(async ({ kind, desired }) => void (await each.apply(kind, desired(word), { force: true })));
  }
}

/** How many requests the API server wrote down meanwhile that would have changed something there. */
async function writesWhile({ auditLog }: OwnControlPlane, kube: Kube, work: () => Promise<void>): Promise<number> {
  const from = await mark(auditLog, kube, "before");
  await work();
  await mark(auditLog, kube, "after");
  const lines = readFileSync(auditLog, "utf8").slice(from).split("\n").filter(Boolean);
  const writes = lines
    .map((line) => JSON.parse(line))
    .filter(({ verb, objectRef }) => {
      return objectRef?.namespace === namespace && !["get", "list", "watch"].includes(verb);
    });
  // The mark itself is one.
  return writes.length - 1;
}

/** Waits until the log contains a marker request, and so every request before it; returns the length of the log. */
async function mark(auditLog: string, kube: Kube, name: string): Promise<number> {
  await kube.create(kinds.secret, { metadata: { namespace, name } });
  return eventually("the mark", () => {
    const text = readFileSync(auditLog, "utf8");
    // A line that is only half written is not there yet.
    return text.endsWith("\n") && text.includes(`"name":"${name}"`) && text.length;
  });
}

async function meddle(owner: Owner, plane: OwnControlPlane, kube: Kube, word: string): Promise<number> {
  const keeper = await startKeeper(kube, wishes, word);
  const hand = openKube(owner, plane.kubeconfig, { fieldManager: "hand" });
  const edited = wishes.slice(0, meddledWith);
  const deleted = wishes.slice(meddledWith, 2 * meddledWith);
  const before = new Map<DesiredObject, string | undefined>();
  for (const wished of deleted) before.set(wished, (await hand.get(wished.kind, wished.at))?.metadata.uid);
  const startedMs = performance.now();
  await inParallel(edited, width, ({ kind, at }) => {
    return hand.apply(kind, { metadata: { ...at, annotations: { word: "by hand" } } }, { force: true, live: null });
  });
  await inParallel(deleted, width, ({ kind, at }) => hand.delete(kind, at));
  for (const wished of [...edited, ...deleted]) {
    const what = `${wished.kind.plural} ${wished.at.name}`;
    await eventually(what, () => isBack(hand, wished, before.get(wished), word));
  }
  const seconds = round((performance.now() - startedMs) / 1_000);
  await keeper.stop();
  return seconds;
}

async function isBack(
  kube: Kube,
  { kind, at }: DesiredObject,
  uidBefore: string | undefined,
  word: string,
): Promise<boolean> {
  const { uid, annotations } = (await kube.get(kind, at))?.metadata ?? {};
  return uid !== undefined && uid !== uidBefore && annotations?.["word"] === word;
}
