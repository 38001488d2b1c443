import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { apiError, backOffMs, kubeRetryFirstMs } from "./api-errors.ts";

const requested = { verb: "list", resource: "pods" };
const peer = { server: new URL("http://127.0.0.1"), path: "kubeconfig" };

function pauses(retryAfter: string, failures = 1): number[] {
  const random = createSeededRandom(7);
  const busy = apiError({ status: 429, headers: { "retry-after": retryAfter }, body: "" }, requested, peer);
  return Array.from({ length: 1_000 }, () => backOffMs(random, failures, busy));
}

test("a server that says when to come back is never requested sooner, and not by everybody at once", () => {
  const found = pauses("10");
  assert.ok(Math.min(...found) >= 10_000);
  assert.ok(Math.max(...found) <= 12_000);
  assert.ok(Math.max(...found) - Math.min(...found) > 1_000, "they are spread");
});

test("a server that requests no pause gets a pause all the same, longer with every failure", () => {
  assert.ok(Math.min(...pauses("0")) >= kubeRetryFirstMs * 0.8);
  assert.ok(Math.min(...pauses("0", 4)) > Math.max(...pauses("0")));
});
