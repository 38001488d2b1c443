import assert from "node:assert/strict";
import { test } from "node:test";
import {
  MsgExec,
  MsgExecResponse,
  MsgGrant,
  MsgRevoke,
  QueryGranteeGrantsRequest,
  QueryGranteeGrantsResponse,
  QueryGranterGrantsRequest,
  QueryGranterGrantsResponse,
  QueryGrantsRequest,
  QueryGrantsResponse,
  TxMsgData,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { testKey } from "../../../../../test/support/chain-signing.ts";
import {
  alice,
  bob,
  carol,
  createTestApp,
  second,
  sendMessage,
  type TestApp,
} from "../../../../../test/support/embedded-app.ts";
import {
  accountDeposit,
  closeDeployment,
  createDeployment,
  deposit,
} from "../../../../../test/support/market-messages.ts";
import { addressBytes, parseAddress } from "../../../../market/address.ts";
import type { TxResult } from "../../abci.ts";
import { createMarketplace } from "../marketplace.ts";
import { depositAuthorization, type Packed, writeAuthorization } from "./authorizations.ts";

interface Wire {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

const path = "/cosmos.authz.v1beta1.Query";
const depositUrl = "/akash.escrow.v1.MsgAccountDeposit";
const sendUrl = "/cosmos.bank.v1beta1.MsgSend";
const dave = testKey("dave");

function limits(amount: bigint, scopes: ("deployment" | "bid")[] = ["deployment", "bid"], denom = "uact"): Packed {
  return writeAuthorization({ kind: "deposit", scopes, limits: amount > 0n ? [{ denom, amount }] : [] });
}

function grant(granter: string, grantee: string, authorization: Packed, expiration?: Date): Wire {
  const message = { granter, grantee, grant: { authorization, ...(expiration && { expiration }) } };
  return { typeUrl: "/cosmos.authz.v1beta1.MsgGrant", value: MsgGrant.encode(MsgGrant.fromPartial(message)).finish() };
}

function revoke(granter: string, grantee: string, msgTypeUrl: string): Wire {
  const value = MsgRevoke.encode({ granter, grantee, msgTypeUrl }).finish();
  return { typeUrl: "/cosmos.authz.v1beta1.MsgRevoke", value };
}

function exec(grantee: string, ...msgs: Wire[]): Wire {
  return { typeUrl: "/cosmos.authz.v1beta1.MsgExec", value: MsgExec.encode({ grantee, msgs }).finish() };
}

const any = (msgTypeUrl: string): Packed => writeAuthorization({ kind: "generic", msgTypeUrl });

function market(): TestApp {
  return createTestApp([alice, bob, carol], {}, createMarketplace());
}

function act(chain: TestApp, key: typeof alice, ...messages: Wire[]): TxResult {
  return chain.deliver(chain.sign(key, messages, { gas: 10_000_000, fee: [{ denom: "uakt", amount: "30000" }] }));
}

function outcome({ code, codespace }: TxResult): string {
  return code === 0 ? "ok" : `${codespace}:${code}`;
}

/** What is left of what the granter allows the grantee to deposit; undefined without a grant. */
function left(chain: TestApp, granter: string, grantee: string): string | undefined {
  const request = QueryGrantsRequest.fromPartial({ granter, grantee });
  const answer = chain.query(`${path}/Grants`, QueryGrantsRequest.encode(request).finish());
  const [found] = QueryGrantsResponse.decode(answer).grants;
  if (!found?.authorization) return undefined;
  const { spendLimits } = depositAuthorization.decode(found.authorization.value);
  return spendLimits.map(({ denom, amount }) => `${amount}${denom}`).join(",");
}

const id = { owner: parseAddress(bob.address), dseq: 7n };
const deploy = (amount: bigint, sources: number[]) =>
  createDeployment({ id, deposit: deposit(amount, "uact", sources) });

test("a grant pays for a deployment, and what is not spent goes back to the granter and may be spent again", () => {
  const chain = market();
  const [aliceHad, bobHad] = [alice, bob].map(({ address }) => chain.balance(address, "uact"));
  assert.equal(outcome(act(chain, alice, grant(alice.address, bob.address, limits(6_000_000n)))), "ok");
  const created = act(chain, bob, deploy(5_000_000n, [2]));
  assert.equal(outcome(created), "ok", created.log);
  assert.ok(created.events.some(({ type }) => type === "cosmos.authz.v1beta1.EventGrant"));
  assert.equal(chain.balance(alice.address, "uact"), aliceHad! - 5_000_000n);
  assert.equal(chain.balance(bob.address, "uact"), bobHad);
  assert.equal(left(chain, alice.address, bob.address), "1000000uact");
  assert.equal(outcome(act(chain, bob, closeDeployment(id))), "ok");
  assert.equal(chain.balance(alice.address, "uact"), aliceHad);
  assert.equal(left(chain, alice.address, bob.address), "6000000uact");
});

test("deposit sources are used in the given order, granters by address, each for the missing rest", () => {
  const chain = market();
  const granters = [alice, carol].sort((one, other) =>
    Buffer.compare(addressBytes(parseAddress(one.address)), addressBytes(parseAddress(other.address))),
  );
  const [first, last] = granters.map(({ address }) => address);
  assert.ok(first && last);
  for (const key of granters) act(chain, key, grant(key.address, bob.address, limits(2_000_000n)));
  assert.equal(outcome(act(chain, bob, deploy(3_000_000n, [2, 1]))), "ok");
  assert.equal(left(chain, first, bob.address), "", "used up, and kept for what may come back");
  assert.equal(left(chain, last, bob.address), "1000000uact");
  const before = chain.balance(bob.address, "uact");
  const account = { signer: bob.address, xid: `${id.owner}/7` };
  act(chain, bob, accountDeposit({ ...account, deposit: deposit(4_000_000n, "uact", [2, 1]) }));
  assert.equal(left(chain, last, bob.address), "");
  assert.equal(chain.balance(bob.address, "uact"), before - 3_000_000n, "the rest is bob's own");
  assert.equal(
    outcome(act(chain, bob, accountDeposit({ ...account, deposit: deposit(1n, "uact", [2]) }))),
    "undefined:1",
  );
});

test("a grant counts for its scopes, its denoms, its time, and as long as the granter has the money", () => {
  const chain = market();
  const tried = (authorization: Packed, expiration?: Date) => {
    act(chain, alice, grant(alice.address, bob.address, authorization, expiration));
    return outcome(act(chain, bob, deploy(5_000_000n, [2])));
  };
  assert.equal(tried(limits(9_000_000n, ["bid"])), "undefined:1");
  assert.equal(tried(limits(9_000_000n, ["deployment"], "uakt")), "undefined:1");
  assert.equal(tried(limits(10n ** 15n)), "ok");
  const soon = new Date(Number((chain.nowNs + 3n * second) / 1_000_000n));
  act(chain, alice, grant(alice.address, bob.address, limits(9_000_000n), soon));
  const topUp = accountDeposit({ signer: bob.address, xid: `${id.owner}/7`, deposit: deposit(1n, "uact", [2]) });
  assert.equal(outcome(act(chain, bob, topUp)), "ok");
  assert.equal(outcome(act(chain, bob, topUp)), "undefined:1", "expired");
  assert.equal(left(chain, alice.address, bob.address), undefined, "and forgotten");
  act(chain, alice, grant(alice.address, bob.address, limits(10n ** 18n)));
  const tooMuch = deposit(chain.balance(alice.address, "uact") + 1n, "uact", [2]);
  assert.equal(
    outcome(act(chain, bob, accountDeposit({ signer: bob.address, xid: `${id.owner}/7`, deposit: tooMuch }))),
    "sdk:5",
  );
});

test("the rest of a revoked grant returns to the granter, and cannot be spent again", () => {
  const chain = market();
  const had = chain.balance(alice.address, "uact");
  act(chain, alice, grant(alice.address, bob.address, limits(5_000_000n)));
  act(chain, bob, deploy(5_000_000n, [2]));
  assert.equal(outcome(act(chain, alice, revoke(alice.address, bob.address, depositUrl))), "ok");
  assert.equal(outcome(act(chain, alice, revoke(alice.address, bob.address, depositUrl))), "authz:2");
  act(chain, bob, closeDeployment(id));
  assert.equal(chain.balance(alice.address, "uact"), had);
  assert.equal(left(chain, alice.address, bob.address), undefined);
});

test("a grantee acts for the granter: with limits on deposits, without any for a kind of message", () => {
  const chain = market();
  act(chain, bob, deploy(5_000_000n, [1]));
  act(chain, alice, grant(alice.address, bob.address, limits(3n, ["deployment"])));
  act(chain, alice, grant(alice.address, bob.address, any(sendUrl)));
  const topUp = (amount: bigint, denom = "uact") =>
    accountDeposit({ signer: alice.address, xid: `${id.owner}/7`, deposit: deposit(amount, denom) });
  const before = chain.balance(alice.address, "uact");
  const done = act(chain, bob, exec(bob.address, topUp(1n), sendMessage(alice.address, carol.address, 9)));
  assert.equal(outcome(done), "ok", done.log);
  assert.equal(chain.balance(alice.address, "uact"), before - 1n);
  assert.equal(left(chain, alice.address, bob.address), "2uact");
  const sent = done.events.find(
    ({ type, attributes }) => type === "transfer" && attributes.some(({ value }) => value === carol.address),
  );
  assert.deepEqual(
    sent?.attributes.slice(-2).map(({ key, value }) => `${key}=${value}`),
    ["authz_msg_index=1", "msg_index=0"],
  );
  const [response] = TxMsgData.decode(done.data).msgResponses;
  assert.equal(MsgExecResponse.decode(response?.value ?? new Uint8Array()).results.length, 2);
  assert.equal(outcome(act(chain, bob, exec(bob.address, topUp(3n)))), "sdk:5");
  assert.equal(outcome(act(chain, bob, exec(bob.address, topUp(1n, "uakt")))), "sdk:4");
  const bid = accountDeposit({
    signer: alice.address,
    scope: 2,
    xid: `${id.owner}/7/1/1/${carol.address}`,
    deposit: deposit(1n, "uact"),
  });
  assert.equal(outcome(act(chain, bob, exec(bob.address, bid))), "escrow:15");
  assert.equal(outcome(act(chain, bob, exec(bob.address, topUp(2n)))), "ok");
  assert.equal(outcome(act(chain, bob, exec(bob.address, topUp(1n)))), "authz:2", "used up by acting, it is gone");
});

test("an account acts for others only by a grant, always for itself, and an inner error keeps its code", () => {
  const chain = market();
  const forAlice = act(chain, bob, exec(bob.address, sendMessage(alice.address, bob.address, 1)));
  assert.equal(outcome(forAlice), "authz:2");
  assert.match(forAlice.log, /message index: 0: failed to get grant with given granter: .*: authorization not found$/);
  assert.equal(outcome(act(chain, bob, exec(bob.address, sendMessage(bob.address, alice.address, 1)))), "ok");
  const failed = act(chain, bob, exec(bob.address, sendMessage(bob.address, alice.address, 10n ** 30n)));
  assert.equal(outcome(failed), "sdk:5");
  assert.match(failed.log, /message index: 0: failed to execute message; message .*insufficient funds$/);
  assert.equal(outcome(act(chain, bob, exec(bob.address))), "sdk:18");
  assert.equal(
    outcome(act(chain, bob, exec(bob.address, { typeUrl: "/test.MsgNothing", value: new Uint8Array() }))),
    "sdk:2",
  );
});

test("messages inside of messages are unpacked to a depth, and no further", () => {
  const chain = market();
  const nested = (depth: number): Wire => {
    const send = sendMessage(bob.address, alice.address, 1);
    return Array.from({ length: depth }).reduce<Wire>((inner) => exec(bob.address, inner), send);
  };
  assert.equal(outcome(act(chain, bob, nested(10))), "ok");
  assert.equal(outcome(act(chain, bob, nested(11))), "sdk:2");
});

test("grants that make no sense are rejected", () => {
  const chain = market();
  const packed = (parts: Partial<Parameters<typeof depositAuthorization.encode>[0]>): Packed => ({
    typeUrl: "/akash.escrow.v1.DepositAuthorization",
    value: depositAuthorization.encode({ scopes: [1], spendLimit: undefined, spendLimits: [], ...parts }),
  });
  const uact = (amount: string) => ({ denom: "uact", amount });
  const cases: [string, Wire][] = [
    ["authz:7", grant(alice.address, alice.address, limits(1n))],
    ["sdk:7", grant(alice.address, "akash1nobody", limits(1n))],
    ["sdk:2", grant(alice.address, bob.address, { typeUrl: "/test.Authorization", value: new Uint8Array() })],
    ["sdk:29", grant(alice.address, bob.address, any("/test.MsgNothing"))],
    ["undefined:1", grant(alice.address, bob.address, any(""))],
    ["escrow:17", grant(alice.address, bob.address, packed({ scopes: [] }))],
    ["escrow:17", grant(alice.address, bob.address, packed({ scopes: [1, 1] }))],
    ["escrow:17", grant(alice.address, bob.address, packed({ scopes: [0] }))],
    ["sdk:10", grant(alice.address, bob.address, packed({ spendLimit: uact("5") }))],
    ["sdk:10", grant(alice.address, bob.address, packed({ spendLimits: [uact("0")] }))],
    ["authz:3", grant(alice.address, bob.address, limits(1n), new Date(0))],
    ["ok", grant(alice.address, bob.address, packed({ spendLimit: uact("0") }))],
    ["ok", grant(alice.address, dave.address, limits(1n))],
  ];
  for (const [expected, message] of cases) {
    const result = act(chain, alice, message);
    assert.equal(outcome(result), expected, result.log);
  }
  assert.ok(chain.account(dave.address).number > 0n, "a grant creates the grantee's account");
});

test("grants are found by both sides", () => {
  const chain = market();
  for (const [granter, grantee] of [
    [alice, bob],
    [alice, carol],
    [bob, carol],
  ] as const) {
    act(chain, granter, grant(granter.address, grantee.address, limits(1n)));
  }
  const given = QueryGranterGrantsRequest.encode(QueryGranterGrantsRequest.fromPartial({ granter: alice.address }));
  const byGranter = QueryGranterGrantsResponse.decode(chain.query(`${path}/GranterGrants`, given.finish()));
  assert.deepEqual(new Set(byGranter.grants.map(({ grantee }) => grantee)), new Set([bob.address, carol.address]));
  const got = QueryGranteeGrantsRequest.encode(QueryGranteeGrantsRequest.fromPartial({ grantee: carol.address }));
  const byGrantee = QueryGranteeGrantsResponse.decode(chain.query(`${path}/GranteeGrants`, got.finish()));
  assert.deepEqual(new Set(byGrantee.grants.map(({ granter }) => granter)), new Set([alice.address, bob.address]));
  const of = (msgTypeUrl: string) =>
    QueryGrantsRequest.encode(
      QueryGrantsRequest.fromPartial({ granter: alice.address, grantee: bob.address, msgTypeUrl }),
    );
  const { grants } = QueryGrantsResponse.decode(chain.query(`${path}/Grants`, of(depositUrl).finish()));
  assert.deepEqual(Buffer.from(grants[0]?.authorization?.value ?? []), limits(1n).value);
  assert.throws(
    () => chain.query(`${path}/Grants`, of(sendUrl).finish()),
    /sdk 6: authorization not found for .* type/,
  );
});
