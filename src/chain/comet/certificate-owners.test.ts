import assert from "node:assert/strict";
import { test } from "node:test";
import { MsgExec } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { signTransaction, testKey } from "../../../test/support/chain-signing.ts";
import type { Message } from "../../../test/support/stages/market-stage.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { addressOf } from "../../market/address.ts";
import { packMessage } from "../tx/messages.ts";
import { certificateOwners } from "./blocks.ts";

const [alice, bob, carol] = [testKey("alice"), testKey("bob"), testKey("carol")];

function inBase64(...sent: Message[]): string {
  const signers = [{ key: carol, accountNumber: 1n, sequence: 0n }];
  const tx = signTransaction({ messages: sent, signers, chainId: "c-1", gas: 1, fee: [] });
  return Buffer.from(tx).toString("base64");
}

const revoke = (owner: string) => packMessage("revokeCertificate", { id: { owner, serial: "1794730560445283489" } });

function exec(...msgs: Message[]): Message {
  const value = MsgExec.encode({ grantee: carol.address, msgs: msgs.map((each) => ({ ...each })) }).finish();
  return { typeUrl: "/cosmos.authz.v1beta1.MsgExec", value };
}

async function ownersIn(...txs: string[]): Promise<string[]> {
  return [...(await certificateOwners(txs, createVirtualClock()))].filter((owner) => owner.length === 44);
}

test("the owner of a created or revoked certificate is found, none in other transactions", async () => {
  const parts = { owner: bob.address, cert: Buffer.from("c"), pubkey: Buffer.from("k") };
  const create = packMessage("createCertificate", parts);
  const other = packMessage("send", { fromAddress: carol.address, toAddress: bob.address, amount: [] });
  assert.deepEqual(await ownersIn(inBase64(revoke(alice.address)), inBase64(create), inBase64(other)), [
    alice.address,
    bob.address,
  ]);
});

test("the owner of a revocation sent by another account is found, however deep it is wrapped", async () => {
  const owners = await ownersIn(inBase64(exec(exec(revoke(alice.address)))));
  assert.deepEqual(owners.toSorted(), [alice.address, carol.address].toSorted());
});

test("an owner is found by an address in upper case, of 32 bytes, or directly followed by other text", async () => {
  const long = addressOf(new Uint8Array(32).fill(7));
  const owners = await certificateOwners(
    [
      inBase64(revoke(alice.address.toUpperCase())),
      inBase64(revoke(long)),
      Buffer.from(`/akash.cert.v1.MsgRevokeCertificate ${bob.address}2222`).toString("base64"),
    ],
    createVirtualClock(),
  );
  for (const owner of [alice.address, long, bob.address]) assert.ok(owners.has(owner), owner);
});
