import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { addressOf } from "./address.ts";
import {
  deploymentOf,
  formatBidId,
  formatDeploymentId,
  formatGroupId,
  formatLeaseId,
  formatOrderId,
  groupOf,
  type LeaseId,
  orderOf,
  parseBidId,
  parseDeploymentId,
  parseDseq,
  parseLeaseId,
  parseOrderId,
  parseSeq,
} from "./ids.ts";

const owner = addressOf(Uint8Array.from({ length: 20 }, (_, index) => index));
const provider = addressOf(Uint8Array.from({ length: 20 }, (_, index) => 20 + index));
const lease: LeaseId = { owner, dseq: 1794730923148n, gseq: 1, oseq: 2, provider, bseq: 0 };
const text = `${owner}/1794730923148/1/2/${provider}`;

/** Few accounts and small numbers as well, so that equal ids and near misses do occur. */
const address = fc.oneof(
  fc.constantFrom(owner, provider),
  fc.uint8Array({ minLength: 20, maxLength: 20 }).map(addressOf),
);
const seq = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 2 ** 32 - 1 }));
const leaseId: fc.Arbitrary<LeaseId> = fc.record(
  {
    owner: address,
    dseq: fc.oneof(fc.bigInt({ min: 1n, max: 12n }), fc.bigInt({ min: 1n, max: 2n ** 64n - 1n })),
    gseq: seq,
    oseq: seq,
    provider: address,
    bseq: fc.oneof(fc.constant(0), seq),
  },
  { noNullPrototype: true },
);

test("ids are written as the chain writes them", () => {
  assert.equal(formatLeaseId(lease), text);
  assert.equal(formatBidId(lease), text);
  assert.equal(formatOrderId(lease), `${owner}/1794730923148/1/2`);
  assert.equal(formatGroupId(lease), `${owner}/1794730923148/1`);
  assert.equal(formatDeploymentId(lease), `${owner}/1794730923148`);
});

test("a bid sequence stands in the text only when there is one", () => {
  assert.equal(formatBidId({ ...lease, bseq: 3 }), `${text}/3`);
  assert.deepEqual(parseBidId(`${text}/3`), { ...lease, bseq: 3 });
  assert.throws(() => parseBidId(`${text}/0`), { code: "AKP_VALUE_OUT_OF_RANGE" }, "or one bid had two texts");
});

test("a lease leads to its order, group and deployment", () => {
  assert.deepEqual(orderOf(lease), { owner, dseq: 1794730923148n, gseq: 1, oseq: 2 });
  assert.deepEqual(groupOf(lease), { owner, dseq: 1794730923148n, gseq: 1 });
  assert.deepEqual(deploymentOf(lease), { owner, dseq: 1794730923148n });
});

test("an invalid id is rejected with the reason and an example", () => {
  assert.throws(() => parseOrderId(`${owner}/1/1`), {
    code: "AKP_VALUE_MALFORMED",
    message: /is not an order id: it has 3 parts instead of owner\/dseq\/gseq\/oseq/,
    advice: /^Write it like akash1\w+\/12345\/1\/1\.$/,
  });
  assert.throws(() => parseLeaseId(`${owner}/1/1/1/nobody`), { message: /"nobody" is not an akash address/ });
  for (const wrong of [
    "",
    "/",
    text.slice(1),
    `${text}/`,
    `${text}/1/1`,
    text.replace("/1/", "/01/"),
    text.replace("/1/", "/+1/"),
    text.replace("/1/", "/1.0/"),
    text.replace("/1/", "//"),
  ]) {
    assert.throws(() => parseLeaseId(wrong), { code: "AKP_VALUE_MALFORMED" }, wrong);
  }
});

test("numbers of ids stay within what the chain can count", () => {
  assert.equal(parseDseq("18446744073709551615"), 2n ** 64n - 1n);
  assert.equal(parseSeq("4294967295"), 2 ** 32 - 1);
  for (const beyond of ["0", "18446744073709551616", "9".repeat(1_000_000)]) {
    assert.throws(() => parseDseq(beyond), { code: "AKP_VALUE_OUT_OF_RANGE" });
  }
  for (const beyond of ["0", "4294967296"]) {
    assert.throws(() => parseSeq(beyond), {
      code: "AKP_VALUE_OUT_OF_RANGE",
      advice: "It must lie between 1 and 4294967295.",
    });
  }
});

test("reading what was written gives the same id back", () => {
  fc.assert(
    fc.property(leaseId, (id) => {
      assert.deepEqual(parseLeaseId(formatLeaseId(id)), id);
      assert.deepEqual(parseOrderId(formatOrderId(id)), orderOf(id));
      assert.deepEqual(parseDeploymentId(formatDeploymentId(id)), deploymentOf(id));
    }),
    { numRuns: runs(300, 20_000) },
  );
});

test("two ids have one text exactly when they are equal", () => {
  const pair = fc.oneof(
    fc.tuple(leaseId, leaseId),
    // Alike but for one field, or for none.
    fc
      .tuple(leaseId, leaseId, fc.constantFrom("owner", "dseq", "gseq", "oseq", "provider", "bseq"))
      .map(([id, other, field]) => [id, { ...id, [field]: other[field as keyof LeaseId] }] as [LeaseId, LeaseId]),
  );
  fc.assert(
    fc.property(pair, ([a, b]) => {
      const keys = Object.keys(a) as (keyof LeaseId)[];
      const equal = keys.every((key) => a[key] === b[key]);
      assert.equal(formatLeaseId(a) === formatLeaseId(b), equal);
    }),
    { numRuns: runs(500, 20_000) },
  );
});
