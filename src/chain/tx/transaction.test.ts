import assert from "node:assert/strict";
import { test } from "node:test";
import { PubKey } from "@akashnetwork/chain-sdk/private-types/cosmos.secp256k1";
import { AuthInfo, TxBody, TxRaw } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { encodePubkey, makeAuthInfoBytes, makeSignBytes, makeSignDoc } from "@cosmjs/proto-signing";
import { secp256k1 } from "@noble/curves/secp256k1";
import { sha256 } from "@noble/hashes/sha2";
import fc from "fast-check";
import { testKey } from "../../../test/support/chain-signing.ts";
import { sendMessage } from "../../../test/support/embedded-app.ts";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import { runs } from "../../../test/support/runs.ts";
import { decodeTransaction } from "../../box/chain/transaction.ts";
import { parseCoins, parseDecCoins } from "../../market/coin.ts";
import { parseDecimal } from "../../market/decimal.ts";
import { createSigner, type Signer } from "../keys/signer.ts";
import {
  adjustedGas,
  type Draft,
  feeFor,
  gasFor,
  signTransaction,
  transactionHash,
  unsignedTransaction,
} from "./transaction.ts";

const key = testKey("transaction test");
const signer = createSigner(key.secret);
const messages = [sendMessage(key.address, key.address, 1)];
const fee = [{ denom: "uakt", amount: 20_000n }];
const place = { chainId: "lab-1", accountNumber: 6n };

const unordered: Draft = { messages, validity: { kind: "unordered", timeoutNs: 1_000_000_001n }, gas: 200_000n, fee };
const ordered: Draft = {
  messages,
  validity: { kind: "ordered", sequence: 6n, timeoutHeight: 90n },
  gas: 200_000n,
  fee,
};

test("a transaction that a real node took comes out byte for byte, save for the signature", () => {
  const recorded = readJsonRecording<{ label: string; tx: string; answer: { hash?: string } }[]>("chain/refused.json");
  const fine = recorded.find(({ label }) => label === "fine");
  const bytes = Buffer.from(fine?.tx ?? "", "base64");
  const raw = TxRaw.decode(bytes);
  const { messages } = TxBody.decode(raw.bodyBytes);
  const { signerInfos } = AuthInfo.decode(raw.authInfoBytes);
  const publicKey = PubKey.decode(signerInfos[0]?.publicKey?.value ?? new Uint8Array()).key;
  const entry = { signers: () => [], handle: () => new Uint8Array() };
  const { timeoutNs } = decodeTransaction(bytes, new Map([["/cosmos.bank.v1beta1.MsgSend", entry]]));
  const draft: Draft = { messages, validity: { kind: "unordered", timeoutNs: timeoutNs }, gas: 200_000n, fee };
  const otherSigner: Signer = { ...signer, publicKey, sign: () => raw.signatures[0] ?? new Uint8Array() };
  const made = signTransaction(draft, otherSigner, place);
  assert.deepEqual(Buffer.from(made.bytes), bytes);
  assert.equal(made.hash, fine?.answer.hash);
});

test("an ordered transaction is signed as cosmjs signs it", () => {
  const { bytes } = signTransaction(ordered, signer, place);
  const { bodyBytes, authInfoBytes, signatures } = TxRaw.decode(bytes);
  const value = Buffer.from(key.publicKey).toString("base64");
  const pubkey = encodePubkey({ type: "tendermint/PubKeySecp256k1", value });
  const coins = [{ denom: "uakt", amount: "20000" }];
  const theirs = makeAuthInfoBytes([{ pubkey, sequence: 6 }], coins, 200_000, undefined, undefined);
  assert.deepEqual(Buffer.from(authInfoBytes), Buffer.from(theirs));
  const signed = makeSignBytes(makeSignDoc(bodyBytes, authInfoBytes, place.chainId, Number(place.accountNumber)));
  const [signature = new Uint8Array()] = signatures;
  assert.ok(secp256k1.verify(signature, sha256(signed), key.publicKey, { lowS: true }));
  assert.equal(TxBody.decode(bodyBytes).timeoutHeight.toString(), "90");
});

test("a stamp keeps every nanosecond", () => {
  fc.assert(
    fc.property(fc.bigInt(1n, 2n ** 62n), (timeoutNs) => {
      const { bytes } = signTransaction({ ...unordered, validity: { kind: "unordered", timeoutNs } }, signer, place);
      const entry = { signers: () => [key.address], handle: () => new Uint8Array() };
      const tx = decodeTransaction(bytes, new Map([["/cosmos.bank.v1beta1.MsgSend", entry]]));
      assert.deepEqual({ ns: tx.timeoutNs, unordered: tx.unordered }, { ns: timeoutNs, unordered: true });
    }),
    { numRuns: runs(50, 2_000) },
  );
});

test("what is simulated is what is signed, but for the signature", () => {
  const simulated = TxRaw.decode(unsignedTransaction(unordered, signer.publicKey));
  const signed = TxRaw.decode(signTransaction(unordered, signer, place).bytes);
  assert.deepEqual(simulated.bodyBytes, signed.bodyBytes);
  assert.deepEqual(simulated.authInfoBytes, signed.authInfoBytes);
  assert.deepEqual(
    simulated.signatures.map(({ length }) => length),
    [0],
  );
});

test("the same draft gives the same bytes, so a transaction can be made again after a crash", () => {
  const [first, second] = [signTransaction(unordered, signer, place), signTransaction(unordered, signer, place)];
  assert.equal(first.hash, second.hash);
  assert.equal(first.hash, transactionHash(second.bytes));
  assert.notEqual(signTransaction(unordered, signer, { ...place, chainId: "other-1" }).hash, first.hash);
});

const feeSettings = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };

test("gas is what was simulated times the adjustment, rounded up", () => {
  assert.equal(gasFor(100_001n, feeSettings), 150_002n);
  assert.equal(gasFor(100_001n, { ...feeSettings, gas: 200_000n }), 200_000n);
  assert.equal(adjustedGas(100_001n, { ...feeSettings, gas: 200_000n }), 150_002n);
});

test("the fee is gas times price, rounded up, in every denom that has a price", () => {
  assert.deepEqual(feeFor(100_001n, feeSettings), parseCoins("2501uakt"));
  const two = { ...feeSettings, gasPrices: parseDecCoins("0.025uakt,0.1uact") };
  assert.deepEqual(feeFor(1_000n, two), parseCoins("100uact,25uakt"));
});

test("a fixed fee is paid instead, and no price means no fee", () => {
  assert.deepEqual(feeFor(100_001n, { ...feeSettings, fees: parseCoins("7uakt") }), parseCoins("7uakt"));
  assert.deepEqual(feeFor(100_001n, { ...feeSettings, gasPrices: [] }), []);
});
