import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BaseAccount,
  ModuleAccount,
  QueryAccountRequest,
  QueryAccountResponse,
  QueryAccountsResponse,
  QueryModuleAccountsResponse,
  QueryParamsResponse,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { alice, bob, createTestApp, sendMessage, type TestApp } from "../../../../../test/support/embedded-app.ts";
import { readJsonRecording } from "../../../../../test/support/recordings.ts";

interface Packed {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

function moduleNames(accounts: readonly Packed[]): string[] {
  const modules = accounts.filter(({ typeUrl }) => typeUrl === "/cosmos.auth.v1beta1.ModuleAccount");
  return modules
    .map(({ value }) => ModuleAccount.decode(value))
    .map(({ name, permissions, baseAccount }) => `${name} ${permissions} ${baseAccount?.address}`)
    .sort();
}

function baseAccount(chain: TestApp, address: string): BaseAccount {
  const request = QueryAccountRequest.encode({ address }).finish();
  const { account } = QueryAccountResponse.decode(chain.query("/cosmos.auth.v1beta1.Query/Account", request));
  assert.equal(account?.typeUrl, "/cosmos.auth.v1beta1.BaseAccount");
  return BaseAccount.decode(account?.value ?? new Uint8Array());
}

test("an account shows its key once it has signed", () => {
  const chain = createTestApp([alice, bob]);
  assert.equal(baseAccount(chain, bob.address).pubKey, undefined);
  chain.deliver(chain.sign(bob, [sendMessage(bob.address, alice.address, 1)]));
  const { pubKey, accountNumber, sequence } = baseAccount(chain, bob.address);
  assert.ok(Buffer.from(pubKey?.value ?? []).includes(Buffer.from(bob.publicKey)));
  assert.deepEqual([accountNumber.toNumber(), sequence.toNumber()], [1, 1]);
});

test("a malformed address and an unknown account return different errors", () => {
  const { app } = createTestApp([alice]);
  const ask = (address: string) =>
    app.query("/cosmos.auth.v1beta1.Query/Account", QueryAccountRequest.encode({ address }).finish());
  assert.deepEqual([ask("").code, ask("akash1nobody").code, ask(bob.address).code], [18, 18, 22]);
  assert.match(ask(bob.address).log, /^rpc error: code = NotFound desc = account akash1\w+ not found: key not found$/);
});

test("the parameters are the network's", () => {
  const { params } = QueryParamsResponse.decode(createTestApp([]).query("/cosmos.auth.v1beta1.Query/Params"));
  assert.deepEqual(
    [params?.maxMemoCharacters, params?.txSigLimit, params?.txSizeCostPerByte, params?.sigVerifyCostSecp256k1].map(
      Number,
    ),
    [256, 7, 10, 1000],
  );
});

test("the modules that hold money have the addresses and permissions that they have on a real chain", () => {
  const { response } = readJsonRecording<{ response: { value: string } }>(
    "chain/queries/cosmos.auth.v1beta1.Query.Accounts.json",
  );
  const recorded = QueryAccountsResponse.decode(Buffer.from(response.value, "base64"));
  const chain = createTestApp([alice]);
  const ours = QueryAccountsResponse.decode(chain.query("/cosmos.auth.v1beta1.Query/Accounts"));
  assert.deepEqual(moduleNames(ours.accounts), moduleNames(recorded.accounts));
  const named = QueryModuleAccountsResponse.decode(chain.query("/cosmos.auth.v1beta1.Query/ModuleAccounts"));
  assert.deepEqual(moduleNames(named.accounts), moduleNames(recorded.accounts));
});
