import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeCertificate } from "../../src/chain/certificates/make-certificate.ts";
import { createCertificateMessage, packMessage } from "../../src/chain/tx/messages.ts";
import { certificateCheckMs, certificateRetryMs } from "../../src/gateway/acme/certificate-issuer.ts";
import { type CertificateStore, createFileStore } from "../../src/gateway/certificate/certificate-store.ts";
import { type KeptCertificate, newValidity, renewAtMs } from "../../src/gateway/certificate/own-certificate.ts";
import { openBoundary } from "../../src/runtime/boundary.ts";
import { writeCertificateFile } from "../support/network-certificate-file.ts";
import { providerSigner, tenantKey } from "../support/stages/outbox-stage.ts";
import { day, hour, owner, setUpCertificates } from "./certificate-stage.ts";

test("a certificate is made, kept, put on the chain once, and served when it is there and not before", async (t) => {
  const stage = await setUpCertificates(t);
  const life = await stage.start();
  assert.equal(life.keeper.current, undefined);
  const served = await life.untilServed();
  const [onChain, ...more] = stage.onChain();
  assert.deepEqual(more, []);
  assert.equal(onChain?.serial, served.serial);
  assert.ok(served.serves(["provider.example"]));
  assert.equal(life.shown.length, 1);
  await life.stop();
  const again = await stage.start();
  assert.equal((await again.untilServed()).serial, served.serial, "the next start goes on with it");
  assert.equal(stage.onChain().length, 1);
});

test("over three years there is always one, renewed while the one before is still good", async (t) => {
  const stage = await setUpCertificates(t);
  const life = await stage.start();
  await life.untilServed();
  let leastLeftMs = Number.POSITIVE_INFINITY;
  for (let days = 0; days < 3 * 365; days += 30) {
    await life.pass(30 * day);
    const { current: served } = life.keeper;
    assert.ok(served && served.untilMs > stage.clock.now());
    leastLeftMs = Math.min(leastLeftMs, served.untilMs - stage.clock.now());
    assert.ok(stage.onChain().some(({ serial, isValid }) => isValid && serial === served.serial));
  }
  assert.ok(leastLeftMs > 90 * day, `${leastLeftMs / day} days`);
  assert.equal(stage.onChain().length, 5, "one every eight months");
  assert.equal(life.shown.length, 5);
});

test("its time comes by itself, without any news of the chain", async (t) => {
  const stage = await setUpCertificates(t);
  const life = await stage.start();
  const { serial, untilMs } = await life.untilServed();
  stage.clock.jump(renewAtMs(life.keeper.current as KeptCertificate) - stage.clock.now() - hour);
  await stage.clock.advance(certificateCheckMs);
  assert.equal(life.keeper.current?.serial, serial);
  assert.equal(life.run.outbox.counts.owed, 1);
  assert.notEqual((await life.untilServed()).serial, serial);
  assert.ok(stage.clock.now() < untilMs);
});

for (const years of [-5, 2, 5]) {
  test(`while the clock is ${years} years off the chain's, the certificate of before is served and none is made or dropped`, async (t) => {
    const stage = await setUpCertificates(t);
    const first = await stage.start();
    const { serial } = await first.untilServed();
    stage.aheadMs = years * 365 * day;
    await first.blocks(8);
    assert.equal(first.keeper.current?.serial, serial);
    await first.stop();
    const before = readFileSync(join(stage.dir, "certificates.pem"), "utf8");
    const life = await stage.start();
    await life.blocks(8);
    assert.equal(life.keeper.current?.serial, serial);
    assert.equal(readFileSync(join(stage.dir, "certificates.pem"), "utf8"), before);
    stage.aheadMs = 0;
    await life.blocks(8);
    assert.equal(life.keeper.current?.serial, serial);
    assert.equal(stage.onChain().length, 1);
  });
}

test("the first certificate is made as soon as the clock is right, and a wrong clock is reported until then", async (t) => {
  const stage = await setUpCertificates(t);
  stage.aheadMs = -5 * 365 * day;
  const life = await stage.start();
  await life.blocks(8);
  assert.match(life.keeper.error ?? "", /^the clock is at .*, and the last block at .*: set the clock$/);
  assert.equal(stage.onChain().length, 0);
  stage.aheadMs = 0;
  assert.ok((await life.untilServed()).fromMs <= stage.clock.now());
});

test("one that is revoked is not served from the next block on, and another one takes its place", async (t) => {
  const stage = await setUpCertificates(t);
  const life = await stage.start();
  const first = await life.untilServed();
  stage.revoke(first.serial);
  await life.block();
  assert.equal(life.keeper.current, undefined);
  const second = await life.untilServed();
  assert.notEqual(second.serial, first.serial);
  assert.deepEqual(
    stage.onChain().map(({ isValid }) => isValid),
    [false, true],
  );
});

test("when the newer one is revoked the one before it, still valid, is there at once", async (t) => {
  const stage = await setUpCertificates(t);
  const life = await stage.start();
  const first = await life.untilServed();
  await life.pass(250 * day);
  const second = await life.untilServed();
  assert.notEqual(second.serial, first.serial);
  stage.revoke(second.serial);
  await life.block();
  assert.equal(life.keeper.current?.serial, first.serial);
  await life.blocks(4);
  const third = await life.untilServed();
  assert.ok(![first.serial, second.serial].includes(third.serial));
});

test("another host name has another one made, while the one before is served on", async (t) => {
  const stage = await setUpCertificates(t);
  const before = await stage.start();
  const first = await before.untilServed();
  await before.stop();
  const life = await stage.start({ hosts: ["other.example", "10.0.0.1"] });
  assert.equal(life.keeper.current?.serial, first.serial);
  await life.blocks(4);
  const second = await life.untilServed();
  assert.ok(second.serves(["other.example", "10.0.0.1"]));
  await life.stop();
  const back = await stage.start();
  assert.equal((await back.untilServed()).serial, first.serial, "the old one is still good for the old name");
  assert.equal(stage.onChain().length, 2);
});

test("while the chain cannot be queried the served certificate stays, and no unproven one is served", async (t) => {
  const stage = await setUpCertificates(t);
  const life = await stage.start();
  const { serial } = await life.untilServed();
  stage.isChainAway = true;
  await life.pass(100 * day);
  assert.equal(life.keeper.current?.serial, serial);
  assert.match(life.keeper.error ?? "", /no route to host/);
  await life.stop();
  const blind = await stage.start();
  await blind.block();
  assert.equal(blind.keeper.current, undefined);
  stage.isChainAway = false;
  assert.equal((await blind.untilServed()).serial, serial);
  stage.isChainAway = true;
  await blind.pass(400 * day);
  assert.equal(blind.keeper.current, undefined, "not beyond its end");
});

test("a chain that has another certificate under our serial does not make ours valid", async (t) => {
  const stage = await setUpCertificates(t);
  const life = await stage.start();
  const { serial } = await life.untilServed();
  await life.stop();
  const forged = makeCertificate({
    ...{ owner, hosts: ["provider.example"], isServer: true, serial: BigInt(serial) },
    ...newValidity(stage.clock),
  });
  writeFileSync(join(stage.dir, "certificates.pem"), `${forged.certificate}${forged.key}`);
  const next = await stage.start();
  assert.equal(next.keeper.current, undefined);
  assert.notEqual((await next.untilServed()).serial, serial);
});

test("the network's own file is taken over where it is on the chain, and kept for the next start", async (t) => {
  for (const isOnChain of [true, false]) {
    const stage = await setUpCertificates(t);
    const made = makeCertificate({
      owner,
      hosts: ["provider.example"],
      isServer: true,
      serial: 7n,
      ...newValidity(stage.clock),
    });
    const path = join(stage.dir, `${owner}.pem`);
    writeCertificateFile(path, made, providerSigner);
    if (isOnChain) await stage.act(createCertificateMessage(owner, made));
    const life = await stage.start();
    await life.blocks(4);
    const served = await life.untilServed();
    assert.equal(served.serial === "7", isOnChain);
    assert.equal(stage.onChain().length, 1, "it is not published by us, and none is made beside it");
    await life.stop();
    rmSync(path);
    const next = await stage.start();
    assert.equal((await next.untilServed()).serial, served.serial);
    assert.equal(stage.onChain().length, 1);
  }
});

test("one of the network's tools that is near its end is served while another one is made", async (t) => {
  const stage = await setUpCertificates(t);
  const fromMs = stage.clock.now() - 360 * day;
  const times = { fromMs, untilMs: fromMs + 365 * day };
  const made = makeCertificate({ owner, hosts: ["provider.example"], isServer: true, serial: 7n, ...times });
  writeCertificateFile(join(stage.dir, `${owner}.pem`), made, providerSigner);
  await stage.act(createCertificateMessage(owner, made));
  const life = await stage.start();
  await life.blocks(6);
  await life.untilServed();
  assert.deepEqual(
    life.shown.map((each) => each?.serial === "7"),
    [true, false],
  );
});

test("a wallet without money for the fee has it wait, and it goes out when there is some", async (t) => {
  const stage = await setUpCertificates(t, { unknownProvider: true });
  const life = await stage.start();
  await life.blocks(3);
  assert.equal(life.keeper.current, undefined);
  assert.match(life.keeper.error ?? "", /on its way to the chain/);
  const amount = [{ denom: "uakt", amount: "10000000" }];
  await stage.act(packMessage("send", { fromAddress: tenantKey.address, toAddress: owner, amount }), tenantKey);
  await life.untilServed();
  assert.equal(stage.onChain().length, 1);
});

test("certificates are lost from the store while it runs: what is served is put back, and none is made anew", async (t) => {
  const stage = await setUpCertificates(t);
  const life = await stage.start();
  const { serial } = await life.untilServed();
  rmSync(join(stage.dir, "certificates.pem"));
  await life.pass(day);
  await life.stop();
  assert.equal((await (await stage.start()).untilServed()).serial, serial);
  assert.equal(stage.onChain().length, 1);
});

test("while the store cannot be read what is served goes on, and one that is revoked goes", async (t) => {
  const stage = await setUpCertificates(t);
  const file = createFileStore(join(stage.dir, "certificates.pem"), openBoundary);
  let isAway = false;
  const store: CertificateStore = {
    ...file,
    async read(signal) {
      if (isAway) throw new Error("the API server is away");
      return file.read(signal);
    },
  };
  const life = await stage.start({ store });
  const { serial } = await life.untilServed();
  isAway = true;
  await life.pass(day);
  assert.equal(life.keeper.current?.serial, serial);
  assert.match(life.keeper.error ?? "", /the API server is away/);
  stage.revoke(serial);
  await life.block();
  assert.equal(life.keeper.current, undefined);
  isAway = false;
  await stage.clock.advance(2 * certificateRetryMs);
  assert.notEqual((await life.untilServed()).serial, serial);
});
