/** Which of the nodes that would do is the best one. */
import { isTolerated } from "../shapes/node.ts";
import type { Pod } from "../shapes/pod.ts";
import type { Candidate } from "./filters.ts";
import { preference } from "./node-affinity.ts";
import type { Room } from "./rooms.ts";

/** Weights and range of the real scheduler. */
const most = 100;
const weights = { taints: 3, affinity: 2, leastAllocated: 1 };
/** A pod that asks for nothing still uses something: this much cpu (milli) and memory (bytes). */
const assumed: Readonly<Record<string, number>> = { cpu: 100, memory: 200 * 1024 * 1024 };

/** The highest score wins; then the node with fewer pods; then the name, so that the same history repeats. */
export function bestRoom(candidate: Candidate, rooms: readonly Room[]): Room | undefined {
  const { pod } = candidate;
  const wishes = rooms.map(({ node }) => preference(node, pod));
  const dislikes = rooms.map(({ node }) => dislikedTaints(node.spec.taints ?? [], pod));
  const mostWished = Math.max(1, ...wishes);
  const mostDisliked = Math.max(1, ...dislikes);
  let best: { room: Room; score: number } | undefined;
  for (const [index, room] of rooms.entries()) {
    const score =
      weights.leastAllocated * leastAllocated(candidate, room) +
      weights.affinity * ((most * (wishes[index] ?? 0)) / mostWished) +
      weights.taints * (most - (most * (dislikes[index] ?? 0)) / mostDisliked);
    if (!best || score > best.score || (score === best.score && goesFirst(room, best.room))) best = { room, score };
  }
  return best?.room;
}

function goesFirst(a: Room, b: Room): boolean {
  return a.pods === b.pods ? a.node.metadata.name < b.node.metadata.name : a.pods < b.pods;
}

function leastAllocated({ requests }: Candidate, { allocatable, taken }: Room): number {
  let total = 0;
  for (const name of ["cpu", "memory"]) {
    const capacity = Number(allocatable.get(name) ?? 0n);
    const wanted = Number(requests.get(name) ?? 0n) || (assumed[name] ?? 0);
    const used = Number(taken.get(name) ?? 0n) + wanted;
    if (capacity > 0 && used <= capacity) total += Math.floor(((capacity - used) * most) / capacity);
  }
  return Math.floor(total / 2);
}

function dislikedTaints(taints: NonNullable<Room["node"]["spec"]["taints"]>, pod: Pod): number {
  let count = 0;
  for (const taint of taints) {
    if (taint.effect === "PreferNoSchedule" && !isTolerated(taint, pod.spec.tolerations)) count += 1;
  }
  return count;
}
