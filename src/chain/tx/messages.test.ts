import assert from "node:assert/strict";
import { test } from "node:test";
import { MsgSend } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { bankModule } from "../../box/chain/modules/bank/bank.ts";
import { certModule } from "../../box/chain/modules/cert/cert.ts";
import { createMarketplace } from "../../box/chain/modules/marketplace.ts";
import { providerModule } from "../../box/chain/modules/provider/provider.ts";
import { kindOfMessage, messageKinds, packMessage, typeOfMessage, unpackMessage } from "./messages.ts";

const baseModules = [bankModule, certModule, providerModule];

test("every message that we send is one that the chain knows", () => {
  const known = [...baseModules, ...createMarketplace()].flatMap((module) => Object.keys(module.messages));
  for (const kind of messageKinds) assert.ok(known.includes(typeOfMessage(kind)), kind);
});

test("a message survives being packed, and is known by its type again", () => {
  const value = MsgSend.fromPartial({ fromAddress: "a", toAddress: "b", amount: [{ denom: "uakt", amount: "1" }] });
  const packed = packMessage("send", value);
  assert.equal(kindOfMessage(packed.typeUrl), "send");
  assert.deepEqual(unpackMessage("send", packed), value);
  assert.equal(kindOfMessage("/cosmos.gov.v1.MsgVote"), undefined);
});
