import assert from "node:assert/strict";
import { test } from "node:test";
import { BaseAccount, QueryAccountInfoResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { testKey } from "../../../test/support/chain-signing.ts";
import { runs } from "../../../test/support/runs.ts";
import { unlimitedLookups } from "../../../test/support/unlimited-lookups.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import type { Queries } from "../../chain/chain.ts";
import { accountQuery } from "../../chain/comet/queries/queries.ts";
import { type Address, addressOf, parseAddress } from "../../market/address.ts";
import { createAccountKeys } from "./account-keys.ts";
import { gatewayUnknownAccounts } from "./chain-certificates.ts";
import { createLookups, type Lookups } from "./lookups.ts";

const alice = testKey("alice");
const address = parseAddress(alice.address);

/** Keys from a node with these answers. */
function answered(answer: Queries["account"], limits?: Lookups) {
  const clock = createVirtualClock();
  const lookups = limits ?? createLookups(clock);
  const chain = { queries: { account: answer } as Queries };
  const keys = createAccountKeys({ chain, lookups, hasLease: (each) => each === address, clock });
  return { keys };
}

function accountOf(pubKey: BaseAccount["pubKey"]): Queries["account"] {
  const info = BaseAccount.fromPartial({ address, ...(pubKey && { pubKey }) });
  const bytes = QueryAccountInfoResponse.encode({ info }).finish();
  return async () => ({ value: accountQuery.decode(bytes, 7n), height: 7n, node: "a node" });
}

/** Protobuf field 1 with these bytes. */
const packed = (key: Uint8Array) => Uint8Array.from([0x0a, key.length, ...key]);
const secp256k1 = (key: Uint8Array) => ({ typeUrl: "/cosmos.crypto.secp256k1.PubKey", value: packed(key) });

test("multisig account → no signing key", async () => {
  const typeUrl = "/cosmos.crypto.multisig.LegacyAminoPubKey";
  const { keys } = answered(accountOf({ typeUrl, value: packed(alice.publicKey) }));
  assert.deepEqual(await keys.keyOf(address, ""), undefined);
});

test("node returns another account's key, or half of one → rejected", async () => {
  for (const key of [testKey("mallory").publicKey, alice.publicKey.slice(0, 20)]) {
    const { keys } = answered(async (...args) => accountOf(secp256k1(key))(...args));
    await assert.rejects(async () => keys.keyOf(address, ""));
  }
  const { keys } = answered(accountOf(secp256k1(alice.publicKey)));
  assert.deepEqual(await keys.keyOf(address, ""), alice.publicKey);
});

test("lease owner's key look-up does not wait behind others of the same source", async () => {
  const { keys } = answered(async (...args) => accountOf(secp256k1(alice.publicKey))(...args));
  // The clock stands, so no queued look-up is sent.
  const others = Array.from({ length: 60 }, async (_, number) => keys.keyOf(accountNumber(number), "192.0.2.7"));
  void Promise.allSettled(others);
  assert.deepEqual(await keys.keyOf(address, "192.0.2.7"), alice.publicKey);
});

test("key cache is bounded, and lease owners stay cached", async () => {
  let queries = 0;
  const { keys } = answered(async () => {
    queries += 1;
    return { value: undefined, height: 7n, node: "a node" };
  }, unlimitedLookups);
  keys.keep(address, alice.publicKey);
  const count = runs(4_200, 100_000);
  for (let number = 0; number < count; number += 1) await keys.keyOf(accountNumber(number), "192.0.2.7");
  assert.deepEqual([queries, keys.size], [count, gatewayUnknownAccounts + 1]);
  assert.deepEqual(keys.keyOf(address, ""), alice.publicKey);
});

function accountNumber(number: number): Address {
  const bytes = Buffer.alloc(20);
  bytes.writeUInt32BE(number);
  return addressOf(bytes);
}
