import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { QueryAccountsRequest, QueryAccountsResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { QueryDeploymentsRequest } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  QueryBidsRequest,
  QueryLeasesRequest,
  QueryOrdersRequest,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import fc from "fast-check";
import {
  bidId,
  closeDeployment,
  createBid,
  createDeployment,
  createLease,
  orderId,
  startReclaim,
} from "../../../test/support/market-messages.ts";
import { runs } from "../../../test/support/runs.ts";
import {
  type MarketStage,
  marketStage,
  otherProvider,
  outcomeOf,
  person,
  provider,
  tenant,
} from "../../../test/support/stages/market-stage.ts";
import {
  queryBidsResponse,
  queryDeploymentsResponse,
  queryLeasesResponse,
  queryOrdersResponse,
  writeUint64,
} from "../../chain/codec/wire-messages.ts";
import type { Address } from "../../market/address.ts";
import { decodePageKey, encodePageKey } from "./akash-paging.ts";
import { bidKey, keyOfBytes, keyToBytes, orderKey } from "./market-ids.ts";

const others = [person(2), person(3)].sort();
const tenants = [tenant, ...others].sort();

/** Three tenants with four deployments each: open, leased, closed, and leased and being reclaimed. */
function busyStage(): MarketStage {
  const stage = marketStage({ people: [...tenants, provider, otherProvider] });
  for (const owner of tenants) {
    for (const dseq of [9n, 10n, 100n, 1000n]) {
      const id = { ...bidId, owner, dseq };
      stage.run(createDeployment({ id }));
      stage.run(createBid(id, { windowNs: 3_600_000_000_000n }));
      stage.run(createBid({ ...id, provider: otherProvider }));
      if (dseq === 10n || dseq === 1000n) stage.run(createLease(id));
      if (dseq === 100n) stage.run(closeDeployment(id));
      if (dseq === 1000n) stage.run(startReclaim(id));
    }
  }
  return stage;
}

interface ListRequest {
  readonly filters?: Record<string, string | number>;
  readonly pagination?: { key?: Uint8Array; limit?: number; offset?: number; reverse?: boolean };
}

interface Answered {
  readonly names: string[];
  readonly nextKey: Uint8Array;
  readonly total: number;
}

type List = (stage: MarketStage, request: ListRequest) => Answered;

function named(
  id: { owner: string; dseq: { toString(): string }; provider?: string } | undefined,
  state: number,
): string {
  return [
    tenants.indexOf(id?.owner as Address),
    id?.dseq,
    ...(id?.provider ? [id.provider === provider ? "a" : "b"] : []),
    state,
  ].join("/");
}

function encodeRequest(
  codec: { fromPartial(parts: object): unknown; encode(message: never): { finish(): Uint8Array } },
  request: ListRequest,
) {
  return codec.encode(codec.fromPartial(request) as never).finish();
}

const lists: Record<"Deployments" | "Orders" | "Bids" | "Leases", List> = {
  Deployments(stage, request) {
    const answer = stage.query(
      "/akash.deployment.v1beta4.Query/Deployments",
      encodeRequest(QueryDeploymentsRequest, request),
    );
    const { deployments, pagination } = queryDeploymentsResponse.decode(answer);
    return page(
      deployments.map(({ deployment }) => named(deployment?.id, deployment?.state ?? 0)),
      pagination,
    );
  },
  Orders(stage, request) {
    const answer = stage.query("/akash.market.v1beta5.Query/Orders", encodeRequest(QueryOrdersRequest, request));
    const { orders, pagination } = queryOrdersResponse.decode(answer);
    return page(
      orders.map(({ id, state }) => named(id, state)),
      pagination,
    );
  },
  Bids(stage, request) {
    const answer = stage.query("/akash.market.v1beta5.Query/Bids", encodeRequest(QueryBidsRequest, request));
    const { bids, pagination } = queryBidsResponse.decode(answer);
    assert.ok(bids.every(({ escrowAccount }) => escrowAccount?.state?.owner));
    return page(
      bids.map(({ bid }) => named(bid?.id, bid?.state ?? 0)),
      pagination,
    );
  },
  Leases(stage, request) {
    const answer = stage.query("/akash.market.v1beta5.Query/Leases", encodeRequest(QueryLeasesRequest, request));
    const { leases, pagination } = queryLeasesResponse.decode(answer);
    assert.ok(leases.every(({ escrowPayment }) => escrowPayment?.state?.owner));
    return page(
      leases.map(({ lease }) => named(lease?.id, lease?.state ?? 0)),
      pagination,
    );
  },
};

function page(
  names: string[],
  pagination: { nextKey: Uint8Array; total: { toNumber(): number } } | undefined,
): Answered {
  return { names, nextKey: pagination?.nextKey ?? new Uint8Array(), total: pagination?.total.toNumber() ?? -1 };
}

/** All pages, each requested with the key of the one before only. */
function follow(list: List, stage: MarketStage, request: ListRequest, limit: number, repeatFilters: boolean): string[] {
  const names: string[] = [];
  let answer = list(stage, { ...request, pagination: { ...request.pagination, limit } });
  for (;;) {
    assert.ok(answer.names.length <= limit);
    assert.equal(answer.total, answer.names.length);
    names.push(...answer.names);
    if (answer.nextKey.length === 0) return names;
    const pagination = { ...request.pagination, limit, key: answer.nextKey };
    answer = list(stage, repeatFilters ? { ...request, pagination } : { pagination });
  }
}

const stage = busyStage();

test("without filters everything is listed, state by state, then by owner and number", () => {
  assert.deepEqual(lists.Orders(stage, {}).names, [
    "0/9/1",
    "1/9/1",
    "2/9/1",
    "0/10/2",
    "0/1000/2",
    "1/10/2",
    "1/1000/2",
    "2/10/2",
    "2/1000/2",
    "0/100/3",
    "1/100/3",
    "2/100/3",
  ]);
  assert.deepEqual(lists.Leases(stage, {}).names, [
    "0/10/a/1",
    "1/10/a/1",
    "2/10/a/1",
    "0/1000/a/4",
    "1/1000/a/4",
    "2/1000/a/4",
  ]);
});

test("an owner's things are listed by number, whatever their state", () => {
  const owner = tenants[1] as string;
  assert.deepEqual(lists.Deployments(stage, { filters: { owner } }).names, ["1/9/1", "1/10/1", "1/100/2", "1/1000/1"]);
  assert.deepEqual(lists.Orders(stage, { filters: { owner, state: "active" } }).names, ["1/10/2", "1/1000/2"]);
  assert.deepEqual(lists.Bids(stage, { filters: { owner, dseq: 10 } }).names, ["1/10/a/2", "1/10/b/3"]);
  assert.deepEqual(lists.Bids(stage, { filters: { owner, provider, state: "open" } }).names, ["1/9/a/1"]);
});

test("a provider's things are listed by owner and number", () => {
  const filters = { provider: otherProvider, state: "lost" };
  assert.deepEqual(lists.Bids(stage, { filters }).names, [
    "0/10/b/3",
    "0/1000/b/3",
    "1/10/b/3",
    "1/1000/b/3",
    "2/10/b/3",
    "2/1000/b/3",
  ]);
  assert.deepEqual(lists.Leases(stage, { filters: { provider: otherProvider } }).names, []);
  assert.deepEqual(lists.Leases(stage, { filters: { provider, state: "reclaiming" } }).names, [
    "0/1000/a/4",
    "1/1000/a/4",
    "2/1000/a/4",
  ]);
});

test("one thing alone is listed by its full name", () => {
  const filters = { owner: tenants[0] as string, dseq: 10, gseq: 1, oseq: 1 };
  assert.deepEqual(lists.Orders(stage, { filters }).names, ["0/10/2"]);
  assert.deepEqual(lists.Orders(stage, { filters: { ...filters, state: "closed" } }).names, []);
  assert.deepEqual(lists.Deployments(stage, { filters: { owner: tenants[0] as string, dseq: 9 } }).names, ["0/9/1"]);
});

test("page by page nothing is missed and nothing comes twice, in both directions and for every filter", () => {
  const kinds = fc.constantFrom(...(Object.keys(lists) as (keyof typeof lists)[]));
  const filters = fc.record(
    {
      owner: fc.constantFrom(...tenants),
      state: fc.constantFrom("active", "closed"),
      provider: fc.constantFrom(provider),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(kinds, filters, fc.integer({ min: 1, max: 7 }), fc.boolean(), (kind, filters, limit, reverse) => {
      const request = { filters, pagination: { reverse } };
      const whole = lists[kind](stage, request).names;
      assert.deepEqual(follow(lists[kind], stage, request, limit, true), whole);
      // Alone, the key still knows owner, provider or state, whichever the list goes along.
      if (Object.keys(filters).length <= 1) assert.deepEqual(follow(lists[kind], stage, request, limit, false), whole);
    }),
    { numRuns: runs(60, 2_000) },
  );
});

test("backwards, the last state comes first", () => {
  assert.deepEqual(lists.Orders(stage, { pagination: { reverse: true, limit: 4 } }).names, [
    "2/100/3",
    "1/100/3",
    "0/100/3",
    "2/1000/2",
  ]);
});

test("some may be skipped if the state is given", () => {
  const pagination = { offset: 2, limit: 1 };
  assert.deepEqual(lists.Orders(stage, { filters: { state: "open" }, pagination }).names, ["2/9/1"]);
  assert.equal(
    outcomeOf(() => lists.Orders(stage, { pagination })),
    "sdk:18",
  );
});

test("a state that is none, and a key that was tampered with, are rejected", () => {
  assert.equal(
    outcomeOf(() => lists.Orders(stage, { filters: { state: "lost" } })),
    "sdk:18",
  );
  const { nextKey } = lists.Bids(stage, { pagination: { limit: 1 } });
  assert.equal(
    outcomeOf(() => lists.Bids(stage, { pagination: { key: nextKey } })),
    "ok",
  );
  const tampered = Uint8Array.from(nextKey, (byte, index) => (index === 6 ? byte ^ 1 : byte));
  for (const key of [tampered, nextKey.subarray(1), Uint8Array.of(1)]) {
    assert.equal(
      outcomeOf(() => lists.Bids(stage, { pagination: { key } })),
      "sdk:18",
    );
  }
});

test("the key of the next page has the real node's layout", () => {
  const { nextKey } = lists.Bids(stage, { filters: { state: "open" }, pagination: { limit: 1 } });
  const [first = ""] = tenants;
  const bigEndian = (value: number, bytes: number) => Buffer.from(value.toString(16).padStart(2 * bytes, "0"), "hex");
  const numbers = [bigEndian(9, 8), bigEndian(1, 4), bigEndian(1, 4)];
  const key = Buffer.concat([
    Buffer.from(`${first}\0`),
    ...numbers,
    Buffer.from(`${otherProvider}\0`),
    bigEndian(0, 4),
  ]);
  const data = Buffer.concat([Buffer.from([1, 1, 1, 1, key.length]), key, Buffer.from([1, 0])]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(data));
  assert.deepEqual(Buffer.from(nextKey), Buffer.concat([checksum, data]));
});

test("a key survives its way through bytes, and a page key too", () => {
  for (const key of [orderKey({ ...orderId, dseq: 2n ** 64n - 1n }), bidKey(bidId)]) {
    assert.equal(keyOfBytes(keyToBytes(key)), key);
  }
  const parts = {
    states: Uint8Array.of(1, 2),
    prefix: Uint8Array.of(9),
    key: Uint8Array.of(3, 4),
    path: new Uint8Array(),
  };
  assert.deepEqual(
    Object.values(decodePageKey(encodePageKey(parts))).map((part) => [...part]),
    Object.values(parts).map((part) => [...part]),
  );
  assert.equal(writeUint64(2n ** 64n - 1n).high, -1);
});

test("escrow accounts are listed by state and by the beginning of their names, page by page", () => {
  const ask = (parts: object) => {
    const bytes = QueryAccountsRequest.encode(QueryAccountsRequest.fromPartial(parts)).finish();
    const { accounts, pagination } = QueryAccountsResponse.decode(
      stage.query("/akash.escrow.v1.Query/Accounts", bytes),
    );
    return {
      names: accounts.map(({ id }) => `${id?.scope}/${id?.xid}`),
      nextKey: pagination?.nextKey ?? new Uint8Array(),
    };
  };
  const whole = ask({}).names;
  assert.equal(whole.length, 36);
  for (const parts of [{}, { state: "closed" }, { xid: "deployment/" }, { state: "open", xid: `bid/${tenants[2]}` }]) {
    const expected = ask(parts).names;
    const names: string[] = [];
    let answer = ask({ ...parts, pagination: { limit: 5 } });
    for (;;) {
      names.push(...answer.names);
      if (answer.nextKey.length === 0) break;
      answer = ask({ ...parts, pagination: { limit: 5, key: answer.nextKey } });
    }
    assert.deepEqual(names, expected);
  }
  assert.equal(ask({ state: "closed", xid: "deployment/" }).names.length, 3);
  assert.equal(
    outcomeOf(() => ask({ state: "lost" })),
    "sdk:18",
  );
});
