/** What `ceph df --format json` says. */
import { z } from "zod";
import { reasonOf } from "../../../runtime/errors.ts";
import { wholeOf } from "./fields.ts";

export interface CephDf {
  readonly pools: ReadonlyMap<string, PoolUse>;
  /** "hdd", "ssd", "nvme": the classes of all disks. */
  readonly deviceClasses: readonly string[];
}

/** Both net of replication and erasure coding: bytes as a client counts them. */
export interface PoolUse {
  /** `stats.stored`: what clients have written. */
  readonly storedBytes: bigint;
  /** `stats.max_avail`: what they may still write before the fullest disk is full. */
  readonly maxAvailBytes: bigint;
}

const shape = z.object({
  pools: z.array(z.object({ name: z.string(), stats: z.looseObject({}) })),
  stats_by_class: z.record(z.string(), z.unknown()).default({}),
});

/** Throws an error with the reason when this is something else. A pool without sound numbers is left out. */
export function parseCephDf(text: string): CephDf {
  const read = shape.safeParse(parseJson(text));
  if (!read.success) {
    const [fault] = read.error.issues;
    throw new Error(`it is no answer of ceph df (${fault?.path.join(".")}: ${fault?.message})`);
  }
  const { pools, stats_by_class } = read.data;
  const uses = pools.flatMap(({ name, stats }): [string, PoolUse][] => {
    const storedBytes = wholeOf(stats["stored"]);
    const maxAvailBytes = wholeOf(stats["max_avail"]);
    return storedBytes === undefined || maxAvailBytes === undefined ? [] : [[name, { storedBytes, maxAvailBytes }]];
  });
  return { pools: new Map(uses), deviceClasses: Object.keys(stats_by_class) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new Error(`it is not JSON (${reasonOf(thrown)})`);
  }
}
