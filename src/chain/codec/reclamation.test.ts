import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease as GeneratedLease } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  Bid as GeneratedBid,
  Order as GeneratedOrder,
  QueryParamsResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import fc from "fast-check";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import { runs } from "../../../test/support/runs.ts";
import { nanoseconds } from "../../runtime/protobuf.ts";
import * as reclamation from "./wire-messages.ts";
import { queryMarketParamsResponse } from "./wire-messages.ts";

const hourNs = 3_600_000_000_000n;
const id = { owner: "akash1owner", dseq: 7n, gseq: 1, oseq: 1, provider: "akash1provider" };

function recorded(query: string): Uint8Array {
  const { response } = readJsonRecording<{ response: { value: string } }>(`chain/queries/${query}.json`);
  return Buffer.from(response.value, "base64");
}

test("the reclamation windows of the market's parameters are read, which the npm package drops", () => {
  const bytes = recorded("akash.market.v1beta5.Query.Params");
  const { params } = queryMarketParamsResponse.decode(bytes);
  assert.equal(params?.minReclamationWindowNs, hourNs);
  assert.equal(params?.maxReclamationWindowNs, 720n * hourNs);
  assert.notDeepEqual(Buffer.from(QueryParamsResponse.encode(QueryParamsResponse.decode(bytes)).finish()), bytes);
});

test("what reclamation adds to an order, a bid and a lease survives, and the npm package reads the rest", () => {
  const order = { ...GeneratedOrder.fromPartial({ id, state: 1 }), reclamation: { minWindowNs: hourNs } };
  const orderBytes = reclamation.order.encode(order);
  assert.deepEqual(reclamation.order.decode(orderBytes).reclamation, order.reclamation);
  assert.equal(GeneratedOrder.decode(orderBytes).id?.owner, id.owner);

  const bid = { ...GeneratedBid.fromPartial({ id, state: 1 }), reclamationWindowNs: 2n * hourNs };
  const bidBytes = reclamation.bid.encode(bid);
  assert.equal(reclamation.bid.decode(bidBytes).reclamationWindowNs, 2n * hourNs);
  assert.equal(GeneratedBid.decode(bidBytes).id?.provider, id.provider);

  const course = { windowNs: hourNs, startedAt: 12n, deadline: 1_800_000_000n, reason: 10001 };
  const lease = {
    ...GeneratedLease.fromPartial({ id, state: reclamation.leaseReclaiming as number }),
    reclamation: course,
  };
  const leaseBytes = reclamation.lease.encode(lease);
  assert.deepEqual(reclamation.lease.decode(leaseBytes).reclamation, course);
  assert.equal(GeneratedLease.decode(leaseBytes).state as number, reclamation.leaseReclaiming);
});

test("a bid without an offer has no field 6, and one that offers nothing at all has an empty one", () => {
  const bid = GeneratedBid.fromPartial({ id, state: 1 });
  const without = reclamation.bid.encode({ ...bid, reclamationWindowNs: undefined });
  assert.deepEqual(Buffer.from(without), Buffer.from(GeneratedBid.encode(bid).finish()));
  assert.deepEqual(
    Buffer.from(reclamation.bid.encode({ ...bid, reclamationWindowNs: 0n })),
    Buffer.concat([without, Buffer.from([0x32, 0x00])]),
  );
});

test("the message that starts a reclamation has the chain's field numbers", () => {
  const bytes = reclamation.msgLeaseStartReclaim.encode({ id: undefined, reason: 10001 });
  assert.deepEqual([...bytes], [0x10, 0x91, 0x4e]);
});

test("a duration of any sign and size survives", () => {
  fc.assert(
    fc.property(fc.bigInt(-(2n ** 62n), 2n ** 62n), (ns) => {
      assert.equal(nanoseconds.decode(nanoseconds.encode(ns)), ns);
    }),
    { numRuns: runs(200, 20_000) },
  );
});
