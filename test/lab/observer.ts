/** Checks a watch: whether an object ever went backwards, and how long the watch lagged. */
import { type Kind, resourceOf } from "../../src/kube/kinds.ts";
import type { Change, Kube, KubeObject, Selection, WatchCache } from "../../src/kube/kube.ts";

/** One object of a kind that changes all the time: a watch without its changes is blind. */
export interface Beats {
  readonly kind: Kind;
  readonly name: string;
  /** Each version of it and when the server said that it was there, oldest first. */
  readonly written: { readonly version: number; readonly atMs: number }[];
}

export interface Observed {
  readonly name: string;
  readonly cache: WatchCache<number>;
  readonly faults: readonly string[];
  /** Changes that the handler received. */
  readonly heard: number;
  /** The longest time from when a beat was written until it, or a later one, was seen. */
  readonly blindMs: number;
  /** When the last beat was written that was seen. */
  readonly seenUntilMs: number;
  /** Whether the cache holds exactly what a fresh list has. */
  isAsListed(direct: Kube): Promise<boolean>;
}

export function observe(kube: Kube, beats: Beats, selection: Selection): Observed {
  const { kind } = beats;
  const faults: string[] = [];
  /** Names that exist according to the changes alone. */
  const known = new Set<string>();
  const newest = new Map<string, number>();
  let heard = 0;
  let blindMs = 0;
  let beatsSeen = 0;

  function handle({ type, name, value }: Change<number>): void {
    heard += 1;
    if (known.has(name) !== (type !== "added"))
      faults.push(`${type} ${name}, which was ${known.has(name) ? "" : "not "}known`);
    if (type === "deleted") {
      known.delete(name);
      return;
    }
    const before = newest.get(name) ?? 0;
    if (value <= before) faults.push(`${name} went from version ${before} to ${value}`);
    known.add(name);
    newest.set(name, value);
    if (name === beats.name) seeBeat(value);
  }

  function seeBeat(version: number): void {
    const nowMs = performance.now();
    for (let next = beats.written[beatsSeen]; next && next.version <= version; next = beats.written[beatsSeen]) {
      blindMs = Math.max(blindMs, nowMs - next.atMs);
      beatsSeen += 1;
    }
  }

  // In etcd every change of anything gets the next number, so a later version is a larger one.
  const cache = kube.watch({ ...selection, kind, project: versionOf, handle });
  return {
    name: [resourceOf(kind), selection.labelSelector].filter(Boolean).join(" "),
    cache,
    faults,
    get heard() {
      return heard;
    },
    get blindMs() {
      return blindMs;
    },
    get seenUntilMs() {
      return beats.written[beatsSeen - 1]?.atMs ?? Number.NEGATIVE_INFINITY;
    },
    async isAsListed(direct) {
      const listed = await direct.list(kind, selection);
      const there = new Map(listed.map((object) => [object.metadata.name, versionOf(object)]));
      const sameNames = known.size === there.size && [...known].every((name) => newest.get(name) === there.get(name));
      return sameNames && cache.size === there.size && listed.every((object) => isCached(cache, object));
    },
  };
}

function isCached(cache: WatchCache<number>, object: KubeObject): boolean {
  const { namespace, name } = object.metadata;
  return cache.get({ namespace, name }) === versionOf(object);
}

export function versionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion);
}
