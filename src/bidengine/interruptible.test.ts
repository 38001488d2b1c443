import assert from "node:assert/strict";
import { test } from "node:test";
import { aGroup, tenant } from "../../test/a-decision.ts";
import type { Decision } from "./decision/decision.ts";
import { createScreenings } from "./interruptible.ts";

const asked = { owner: tenant, group: aGroup(), reclamationWindowNs: undefined };
const { signal } = new AbortController();
const no: Decision = { verdict: "no", checks: [], price: undefined, offer: undefined };

test("a screening that waits for its price is ended when an order comes, however the price takes that", async () => {
  const refuses = createScreenings(
    (_, ending) => new Promise((_, reject) => ending.addEventListener("abort", () => reject(ending.reason))),
  );
  const givesUp = createScreenings(
    (_, ending) => new Promise((resolve) => ending.addEventListener("abort", () => resolve(no))),
  );
  for (const screenings of [refuses, givesUp]) {
    const screened = screenings.screen(asked, signal);
    screenings.giveWay();
    assert.equal(await screened, undefined);
  }
});

test("a screening that nothing comes in between of is decided, and whoever asked may end it", async () => {
  assert.equal(await createScreenings(async () => no).screen(asked, signal), no);
  const leaving = new AbortController();
  const left = createScreenings(
    (_, ending) => new Promise((_, reject) => ending.addEventListener("abort", () => reject(ending.reason))),
  ).screen(asked, leaving.signal);
  leaving.abort(new Error("gone"));
  await assert.rejects(left, /gone/);
});
