/** Cached keys and certificates of accounts, while the chain answers, while it is silent, and after a restart. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MsgExec, MsgGrant } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { writeAuthorization } from "../../src/box/chain/modules/authz/authorizations.ts";
import type { Signer } from "../../src/chain/keys/signer.ts";
import { packMessage } from "../../src/chain/tx/messages.ts";
import { gatewayCertificateMs, gatewayMissingMs } from "../../src/gateway/auth/chain-certificates.ts";
import { gatewayLookupMs } from "../../src/gateway/auth/lookups.ts";
import { addressOf } from "../../src/market/address.ts";
import { parseCoin } from "../../src/market/coin.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { type AccountLife, type AccountStage, onAccountStage, revocation } from "./account-stage.ts";

const source = "192.0.2.7";
const silent = { code: "AKP_CHAIN_SILENT" };

function peopleOf({ people }: AccountStage): readonly [Signer, Signer, Signer, Signer] {
  return people as unknown as [Signer, Signer, Signer, Signer];
}

const upToDate = ({ until, node }: AccountStage, { chain }: AccountLife) => {
  const { height } = node;
  return until("the block", () => chain.height >= height);
};

test("account key is queried once; a missing one is cached for a block", async () => {
  await onAccountStage(async (stage) => {
    const { clock, node, send } = stage;
    const [newcomer, alice] = peopleOf(stage);
    const { keys, counts: _, ...life } = await stage.start();
    const unknown = addressOf(new Uint8Array(20).fill(9));
    assert.deepEqual(await keys.keyOf(unknown, source), undefined);
    assert.deepEqual(await keys.keyOf(alice.address, source), undefined);
    await send(alice, payment(alice, newcomer));
    assert.deepEqual(keys.keyOf(alice.address, source), undefined);
    await sleep(clock, gatewayMissingMs);
    const found = keys.keyOf(alice.address, source);
    assert.ok(found instanceof Promise);
    assert.deepEqual(await found, alice.publicKey);
    await node.stop();
    assert.deepEqual(keys.keyOf(alice.address, source), alice.publicKey);
    await life.stop();
  });
});

test("revoked certificate is invalid from its block on, also if revoked in another account's transaction", async () => {
  await onAccountStage(async (stage) => {
    const [, alice, bob] = peopleOf(stage);
    const life = await stage.start();
    const [first, second] = [await stage.certify(alice), await stage.certify(alice)];
    const found = (serial: bigint) => life.certificates.certificateOf(alice.address, serial, source);
    assert.equal(await found(9n), undefined);
    for (const { serial, der } of [first, second]) {
      assert.ok(der.equals((await found(serial)) ?? Buffer.alloc(0)));
      assert.ok(!(found(serial) instanceof Promise), "at once from here on");
    }
    await stage.revoke(alice, first);
    await upToDate(stage, life);
    assert.equal(await found(first.serial), undefined);
    assert.ok(der(await found(second.serial)));
    const authorization = writeAuthorization({ kind: "generic", msgTypeUrl: "/akash.cert.v1.MsgRevokeCertificate" });
    await stage.send(alice, grant(alice, bob, authorization));
    await stage.send(bob, exec(bob, revocation(alice, second.serial)));
    await upToDate(stage, life);
    assert.equal(await found(second.serial), undefined);
    const third = await stage.certify(alice);
    await upToDate(stage, life);
    assert.ok(der(await found(third.serial)), "one queried too early is found with its block");
  });
});

test("certificate queried while it is being revoked is not cached", async () => {
  await onAccountStage(async (stage) => {
    const [, alice] = peopleOf(stage);
    const life = await stage.start();
    const certificate = await stage.certify(alice);
    await upToDate(stage, life);
    // An answer from before the block arrives after it.
    const query = stage.wire.delay("abci_query");
    const found = life.certificates.certificateOf(alice.address, certificate.serial, source);
    await query.answered;
    await stage.revoke(alice, certificate);
    await upToDate(stage, life);
    query.letGo();
    assert.equal(await found, undefined);
    assert.equal(await life.certificates.certificateOf(alice.address, certificate.serial, source), undefined);
  });
});

test("revocation seen in a block counts after a restart while the chain is silent", async () => {
  await onAccountStage(async (stage) => {
    const [, alice] = peopleOf(stage);
    const life = await stage.start();
    await stage.lease(alice, 7n);
    const certificate = await stage.certify(alice);
    const written = () => life.journal.read.certificates.of(alice.address).length;
    await stage.until("the certificate in the journal", () => written() === 1);
    stage.wire.hangs = (method) => method === "abci_query";
    await stage.revoke(alice, certificate);
    await upToDate(stage, life);
    await stage.until("it is gone from there", () => written() === 0);
  });
});

test("missed blocks → certificates are queried again", async () => {
  await onAccountStage(
    async (stage) => {
      const { clock } = stage;
      const [, alice] = peopleOf(stage);
      const life = await stage.start();
      const [first, second] = [await stage.certify(alice), await stage.certify(alice)];
      await upToDate(stage, life);
      for (const { serial } of [first, second]) await life.certificates.certificateOf(alice.address, serial, source);
      const gaps: unknown[] = [];
      life.chain.onStep(({ gap }) => void (gap && gaps.push(gap)));
      stage.wire.hangs = () => true;
      await stage.revoke(alice, first);
      await sleep(clock, 25_000);
      stage.wire.hangs = () => false;
      await upToDate(stage, life);
      assert.equal(gaps.length, 1);
      assert.equal(await life.certificates.certificateOf(alice.address, first.serial, source), undefined);
      assert.ok(der(await life.certificates.certificateOf(alice.address, second.serial, source)));
    },
    { keepBlocks: 10 },
  );
});

test("silent chain → lease owners are authenticated from the cache, others are not", async () => {
  await onAccountStage(async (stage) => {
    const { clock } = stage;
    const [, alice, bob] = peopleOf(stage);
    const certificate = await stage.certify(alice);
    await stage.send(bob, payment(bob, alice));
    const life = await stage.start();
    await stage.lease(alice, 1n);
    await stage.until("she is known", () => life.journal.read.certificates.of(alice.address).length === 1);
    stage.wire.hangs = () => true;
    stage.pace(60_000);
    await sleep(clock, gatewayCertificateMs + 1_000);
    assert.deepEqual(life.keys.keyOf(alice.address, source), alice.publicKey);
    for (let round = 0; round < 3; round += 1) {
      const found = life.certificates.certificateOf(alice.address, certificate.serial, source);
      assert.ok(der(found), "not a promise");
      await sleep(clock, gatewayLookupMs);
    }
    const fromMs = clock.monotonicMs();
    await assert.rejects(async () => life.keys.keyOf(bob.address, source), silent);
    await assert.rejects(async () => life.certificates.certificateOf(bob.address, 1n, source), silent);
    assert.ok(clock.monotonicMs() - fromMs <= 2 * gatewayLookupMs);
    stage.wire.hangs = () => false;
    await stage.until("the chain is back", () => life.chain.status.reason === undefined);
    assert.deepEqual(await life.keys.keyOf(bob.address, source), bob.publicKey);
  });
});

test("lease owners stay cached after a restart, and revocations in between are found", async () => {
  await onAccountStage(async (stage) => {
    const [, alice, bob] = peopleOf(stage);
    const certificates = [await stage.certify(alice), await stage.certify(alice)] as const;
    await stage.lease(alice, 1n);
    await stage.lease(bob, 2n);
    const before = await stage.start();
    const { read } = before.journal;
    await stage.until("both are known", () => read.tenants.all().length === 2);
    await stage.until("hers too", () => read.certificates.of(alice.address).length === 2);
    await before.stop();
    await stage.revoke(alice, certificates[0]);
    await stage.close(bob, 2n);

    const life = await stage.start({ silence: true });
    assert.deepEqual(life.keys.keyOf(alice.address, source), alice.publicKey);
    const find = (index: 0 | 1) => life.certificates.certificateOf(alice.address, certificates[index].serial, source);
    assert.ok(der(await find(0)), "unconfirmed while the chain is silent");
    assert.ok(der(find(0)), "no further query for a while");
    assert.equal(life.journal.rows().tenants, 1, "who has no lease any more is gone");
    stage.wire.hangs = () => false;
    await stage.until("the chain is back", () => life.chain.status.reason === undefined);
    await stage.until("it is revoked", () => life.journal.read.certificates.of(alice.address).length === 1);
    assert.equal(await find(0), undefined);
    assert.ok(der(await find(1)));
  });
});

test("last lease closed → its owner's cached keys and certificates are removed", async () => {
  await onAccountStage(async (stage) => {
    const [, alice] = peopleOf(stage);
    await stage.certify(alice);
    await stage.lease(alice, 1n);
    await stage.lease(alice, 2n);
    const life = await stage.start();
    const kept = () => [life.journal.rows().tenants, life.journal.rows().certificates].join();
    await stage.until("she is known", () => kept() === "1,1");
    await stage.close(alice, 1n);
    await upToDate(stage, life);
    assert.equal(kept(), "1,1");
    await stage.close(alice, 2n);
    await stage.until("nothing is kept", () => kept() === "0,0");
    const { sent: before } = life.counts;
    await life.keys.keyOf(alice.address, source);
    assert.equal(life.counts.sent, before + 1);
  });
});

function der(found: Uint8Array | undefined | Promise<unknown>): boolean {
  return found instanceof Uint8Array;
}

function payment(from: Signer, to: Signer) {
  const { denom, amount } = parseCoin("1000uakt");
  const coins = [{ denom, amount: `${amount}` }];
  return packMessage("send", { fromAddress: from.address, toAddress: to.address, amount: coins });
}

function grant(granter: Signer, grantee: Signer, authorization: ReturnType<typeof writeAuthorization>) {
  const message = { granter: granter.address, grantee: grantee.address, grant: { authorization } };
  return { typeUrl: "/cosmos.authz.v1beta1.MsgGrant", value: MsgGrant.encode(MsgGrant.fromPartial(message)).finish() };
}

function exec(grantee: Signer, ...msgs: { typeUrl: string; value: Uint8Array }[]) {
  return {
    typeUrl: "/cosmos.authz.v1beta1.MsgExec",
    value: MsgExec.encode({ grantee: grantee.address, msgs }).finish(),
  };
}
