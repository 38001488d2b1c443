/** The services do not know each other: what one needs and what the other gives are held together here. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Capacity } from "../src/bidengine/capacity.ts";
import type { ClusterCapacity } from "../src/cluster/reservations/reservations.ts";

const needed = (given: ClusterCapacity): Capacity => given;

test("the cluster service gives what the bid engine needs of it", () => {
  const given = {} as ClusterCapacity;
  assert.equal(needed(given), given);
});
