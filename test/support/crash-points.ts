/**
 * Plays a story once as it is and again with a crash at boundaries that it crosses: `npm test` takes a sample of them,
 * `npm run test:long` the first and the last of each kind, `npm run soak` all.
 */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { kindsOf, opensJournal } from "./boundary-kinds.ts";
import { failedOf, playCase, type StoryCase } from "./failed-cases.ts";
import { soaking } from "./runs.ts";
import { thorough } from "./thorough.ts";

/** What `npm test` takes of the boundaries: one of so many, of those about this. */
interface Sample {
  readonly every: number;
  readonly about?: RegExp;
}

interface Crossed {
  readonly crossings: readonly string[];
}

interface CrashPoint {
  /** Counted from 1. */
  readonly crashAt: number;
  readonly about: string;
}

interface Crash extends StoryCase {
  /** How many came before it. */
  readonly index: number;
}

interface Story<Whole extends Crossed> {
  readonly seeds?: readonly number[];
  readonly sample: Sample;
  /** Also while the journal is made and migrated, which is the same in every story. */
  readonly opens?: boolean;
  whole(seed: number): Promise<Whole>;
  crash(crash: Crash, whole: Whole): Promise<void>;
}

/** `name`: of the story, in failed-cases.ts. */
export async function playCrashes<Whole extends Crossed>(
  t: TestContext,
  name: string,
  { seeds = [1], sample, opens = false, whole: playWhole, crash }: Story<Whole>,
): Promise<void> {
  const failed = failedOf(name);
  let [crashes, boundaries] = [0, 0];
  for (const seed of new Set([...seeds, ...failed.map((each) => each.seed)])) {
    const whole = await playCase(name, { seed, crashAt: 0 }, "no crash", () => playWhole(seed));
    const again = failed.filter((each) => each.seed === seed && each.crashAt > 0);
    const points = seeds.includes(seed) ? crashPoints(whole.crossings, sample, opens) : [];
    boundaries += points.length > 0 ? whole.crossings.length : 0;
    for (const { crashAt } of [...again, ...points]) {
      const about = `crash at ${whole.crossings[crashAt - 1]}`;
      await playCase(name, { seed, crashAt }, about, () => crash({ seed, crashAt, index: crashes }, whole));
      crashes += 1;
    }
  }
  t.diagnostic(`${crashes} crashes at ${boundaries} boundaries`);
  assert.ok(crashes > 0);
}

function crashPoints(crossings: readonly string[], sample: Sample, opens: boolean): CrashPoint[] {
  const points = crossings
    .map((about, index) => ({ crashAt: index + 1, about }))
    .filter(({ about }) => opens || !opensJournal(about));
  if (soaking) return points;
  if (thorough) return endsOfKinds(points);
  return points
    .filter(({ about }) => sample.about?.test(about) ?? true)
    .filter((_, index) => index % sample.every === 0);
}

/** The first and the last of each kind; a write to the cluster does not say of what it is, so each is of its own. */
function endsOfKinds(points: readonly CrashPoint[]): CrashPoint[] {
  const [firsts, lasts] = [new Map<string, CrashPoint>(), new Map<string, CrashPoint>()];
  for (const point of points) {
    const kinds = point.about.startsWith("kube ") ? [`${point.about} ${point.crashAt}`] : kindsOf(point.about);
    for (const kind of kinds) {
      if (!firsts.has(kind)) firsts.set(kind, point);
      lasts.set(kind, point);
    }
  }
  const chosen = new Set([...firsts.values(), ...lasts.values()]);
  return points.filter((point) => chosen.has(point));
}
