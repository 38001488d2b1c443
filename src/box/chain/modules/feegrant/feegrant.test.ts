import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BasicAllowance,
  MsgGrantAllowance,
  MsgRevokeAllowance,
  QueryAllowanceRequest,
  QueryAllowanceResponse,
  QueryAllowancesByGranterRequest,
  QueryAllowancesByGranterResponse,
  QueryAllowancesRequest,
  QueryAllowancesResponse,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { alice, bob, carol, createTestApp, type TestApp } from "../../../../../test/support/embedded-app.ts";

const basicUrl = "/cosmos.feegrant.v1beta1.BasicAllowance";

function grant(grantee: string, basic: Parameters<typeof BasicAllowance.fromPartial>[0] = {}, typeUrl = basicUrl) {
  const allowance = { typeUrl, value: BasicAllowance.encode(BasicAllowance.fromPartial(basic)).finish() };
  const message = { granter: alice.address, grantee, allowance };
  return { typeUrl: "/cosmos.feegrant.v1beta1.MsgGrantAllowance", value: MsgGrantAllowance.encode(message).finish() };
}

function revoke(grantee: string) {
  const value = MsgRevokeAllowance.encode({ granter: alice.address, grantee }).finish();
  return { typeUrl: "/cosmos.feegrant.v1beta1.MsgRevokeAllowance", value };
}

function deliver(chain: TestApp, message: ReturnType<typeof grant>) {
  const { code, codespace, log } = chain.deliver(chain.sign(alice, [message]));
  return { code, codespace, log };
}

test("an allowance is granted once, found by both sides, and taken back", () => {
  const chain = createTestApp([alice]);
  const spendLimit = [{ denom: "uakt", amount: "5" }];
  assert.equal(deliver(chain, grant(bob.address, { spendLimit })).code, 0);
  assert.equal(deliver(chain, grant(carol.address)).code, 0);
  assert.match(deliver(chain, grant(bob.address)).log, /fee allowance already exists: invalid request$/);

  const path = "/cosmos.feegrant.v1beta1.Query";
  const ask = QueryAllowanceRequest.encode({ granter: alice.address, grantee: bob.address }).finish();
  const { allowance } = QueryAllowanceResponse.decode(chain.query(`${path}/Allowance`, ask));
  assert.deepEqual(BasicAllowance.decode(allowance?.allowance?.value ?? new Uint8Array()).spendLimit, spendLimit);
  const granteeRequest = QueryAllowancesRequest.fromPartial({ grantee: bob.address });
  const granted = chain.query(`${path}/Allowances`, QueryAllowancesRequest.encode(granteeRequest).finish());
  assert.equal(QueryAllowancesResponse.decode(granted).allowances.length, 1);
  const granterRequest = QueryAllowancesByGranterRequest.fromPartial({ granter: alice.address });
  const given = chain.query(
    `${path}/AllowancesByGranter`,
    QueryAllowancesByGranterRequest.encode(granterRequest).finish(),
  );
  assert.equal(QueryAllowancesByGranterResponse.decode(given).allowances.length, 2);

  assert.equal(deliver(chain, revoke(bob.address)).code, 0);
  assert.equal(deliver(chain, revoke(bob.address)).code, 38);
  assert.throws(() => chain.query(`${path}/Allowance`, ask), /fee-grant not found/);
});

test("an allowance creates the grantee's account, which can sign without any money", () => {
  const chain = createTestApp([alice]);
  deliver(chain, grant(bob.address));
  const tx = chain.sign(bob, [revokeOf(bob.address, carol.address)], { granter: alice.address });
  assert.equal(chain.deliver(tx).code, 38, "the message fails, but its fee was paid");
  assert.equal(chain.account(bob.address).sequence, 1n);
});

test("allowances that make no sense are rejected", () => {
  const chain = createTestApp([alice]);
  assert.equal(deliver(chain, grant(alice.address)).code, 7);
  assert.equal(deliver(chain, grant(bob.address, { spendLimit: [{ denom: "uakt", amount: "0" }] })).code, 10);
  assert.equal(deliver(chain, grant(bob.address, { expiration: new Date(0) })).code, 18);
  assert.equal(deliver(chain, grant(bob.address, {}, "/cosmos.feegrant.v1beta1.PeriodicAllowance")).code, 2);
});

function revokeOf(granter: string, grantee: string) {
  const value = MsgRevokeAllowance.encode({ granter, grantee }).finish();
  return { typeUrl: "/cosmos.feegrant.v1beta1.MsgRevokeAllowance", value };
}
