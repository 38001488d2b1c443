import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { createCountingBoundary } from "../../../test/support/counting-boundary.ts";
import { day, host, setUpIssuer } from "../../../test/support/stages/issuer-stage.ts";
import { certificateTime, makeCertificate } from "../../../test/support/test-certificate.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { acmePauseMostMs } from "./authority.ts";
import { acmeOrderTries } from "./certificate-issuer.ts";

const minute = 60_000;
const hour = 60 * minute;
const unreachable = new ProviderError("AKP_ACME_UNREACHABLE", { url: "https://x.example", reason: "no route to host" });

function differences(times: readonly number[]): number[] {
  return times.slice(1).map((time, at) => time - (times[at] ?? 0));
}

test("certificate is issued and served, and served again after a restart without a request", async (t) => {
  const { clock, authority, start } = setUpIssuer(t);
  const first = start();
  await clock.settle();
  assert.deepEqual(first.shown, [...authority.issued.values()]);
  assert.deepEqual([first.issuer.error, first.issuer.counts], [undefined, { issued: 1, failed: 0 }]);
  await first.stop();
  const second = start();
  await clock.settle();
  assert.deepEqual([second.shown, authority.requestedAtMs.length], [first.shown, 1]);
});

for (const days of [90, 6]) {
  test(`certificate of ${days} days → renewed with a third of its lifetime left, without a gap`, async (t) => {
    const { clock, authority, start } = setUpIssuer(t);
    authority.lifeMs = days * day;
    const { shown, issuer } = start();
    await clock.advance(1.5 * days * day);
    assert.deepEqual(differences(authority.requestedAtMs), [(days * day * 2) / 3, (days * day * 2) / 3]);
    assert.deepEqual(shown, [...authority.issued.values()], "at no time none");
    assert.equal(issuer.error, undefined);
  });
}

test("failing authority → retries with growing pauses; the certificate is served until it expires", async (t) => {
  const { clock, authority, start } = setUpIssuer(t);
  authority.lifeMs = 9 * day;
  const { shown, issuer } = start();
  await clock.settle();
  authority.error = unreachable;
  await clock.advance(8 * day);
  assert.ok(issuer.current);
  assert.match(issuer.error ?? "", /cannot be reached at https:\/\/x\.example: no route to host/);
  const pauses = differences(authority.requestedAtMs.slice(1));
  assert.deepEqual(
    pauses.slice(0, 11),
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360].map((each) => each * minute),
  );
  await clock.advance(7 * day);
  assert.deepEqual([issuer.current, shown.length], [undefined, 2]);
  assert.ok(
    differences(authority.requestedAtMs)
      .slice(10)
      .every((pause) => pause <= 6 * hour),
    "it never gives up",
  );
  authority.error = undefined;
  await clock.advance(6 * hour);
  assert.deepEqual([shown.length, issuer.error], [3, undefined]);
});

test("Retry-After is respected up to six hours", async (t) => {
  for (const [wantedMs, waitedMs] of [
    [30 * minute, 30 * minute],
    [7 * day, 6 * hour],
  ] as const) {
    const { clock, authority, start } = setUpIssuer(t);
    const details = { url: "https://x.example", status: 429, kind: "rateLimited", reason: "too many" };
    const retryAfterMs = Math.min(wantedMs, acmePauseMostMs);
    authority.error = new ProviderError("AKP_ACME_REFUSED", { ...details, retryAfterMs });
    start();
    await clock.advance(waitedMs);
    assert.deepEqual(differences(authority.requestedAtMs), [waitedMs]);
  }
});

test("repeated restarts stay within the authority's rate limit", async (t) => {
  const { clock, authority, start } = setUpIssuer(t);
  authority.error = unreachable;
  for (let minutes = 0; minutes < 180; minutes++) {
    const life = start();
    await clock.advance(minute);
    assert.match(life.issuer.error ?? "", /no route to host/, "also of an attempt before this start");
    await life.stop();
  }
  assert.ok(
    authority.requestedAtMs.length <= 5 + 180 / 12,
    `${authority.requestedAtMs.length} attempts in three hours`,
  );
  assert.ok(Math.max(...differences(authority.requestedAtMs)) <= 13 * minute, "and yet soon after each start");
});

test("crash at any boundary → the next start has a certificate with its key", async (t) => {
  const rehearsal = createCountingBoundary();
  const { clock, start } = setUpIssuer(t);
  start({ boundary: rehearsal });
  await clock.settle();
  assert.ok(rehearsal.crossings.length >= 14, rehearsal.crossings.join("\n"));
  for (let at = 1; at <= rehearsal.crossings.length; at++) {
    const stage = setUpIssuer(t);
    const boundary = createCountingBoundary(at);
    const cut = stage.start({ boundary });
    await stage.clock.settle();
    assert.ok(boundary.crashed);
    await cut.stop();
    const { issuer, stop } = stage.start();
    await stage.clock.settle();
    const where = `after ${boundary.crossings.at(-1)}`;
    assert.deepEqual([issuer.current?.certificate], [...stage.authority.issued.values()], where);
    assert.equal(stage.storage().attempts.failures, 0);
    await stop();
  }
});

test("two issuers with one folder → the same certificate", async (t) => {
  const { clock, authority, start } = setUpIssuer(t);
  const lives = [start(), start()];
  await clock.settle();
  const [certificate] = [...authority.issued.values()];
  assert.deepEqual([lives[0]?.shown, lives[1]?.shown], [[certificate], [certificate]]);
  assert.equal(authority.issued.size, 1);
});

test("certificate renewed by another process → served within hours", async (t) => {
  const { clock, authority, storage, start } = setUpIssuer(t);
  const { shown } = start();
  await clock.settle();
  const { key } = storage().order();
  const issued = await authority.complete({ url: "other", key }, 0, AbortSignal.any([]));
  storage().keepCertificate({ ...issued, key });
  await clock.advance(6 * hour);
  assert.deepEqual(shown, [...authority.issued.values()]);
});

test("certificate of another authority → served, and replaced at once", async (t) => {
  const { clock, authority, start } = setUpIssuer(t);
  const trying = start();
  await clock.settle();
  await trying.stop();
  const { shown } = start({ directoryUrl: "https://production.example/directory" });
  await clock.settle();
  assert.deepEqual(shown, [...authority.issued.values()]);
  await clock.advance(day);
  assert.equal(authority.issued.size, 2, "once, and not again and again");
});

test("certificate of the Go provider → served and renewed", async (t) => {
  const { clock, dir, authority, start } = setUpIssuer(t);
  const [from, until] = [certificateTime(clock.now() - 30 * day), certificateTime(clock.now() + 60 * day)];
  const kept = makeCertificate({ name: "kept", host, from, until });
  const at = (kind: string) => join(dir, "certificates", `${host}.${kind}`);
  mkdirSync(dirname(at("")), { recursive: true });
  writeFileSync(at("crt"), kept.certPem);
  writeFileSync(at("key"), kept.keyPem);
  writeFileSync(at("json"), JSON.stringify({ domain: host, certUrl: "https://staging.example/cert/1" }));
  const { shown } = start();
  await clock.settle();
  assert.deepEqual([shown, authority.requestedAtMs], [[kept.certPem], []]);
  const startedMs = clock.now();
  await clock.advance(31 * day);
  assert.deepEqual(authority.requestedAtMs, [startedMs + 30 * day]);
  assert.deepEqual(shown, [kept.certPem, ...authority.issued.values()]);
});

test("unusable certificate → neither stored nor served, and its order is dropped", async (t) => {
  const { clock, authority, storage, start } = setUpIssuer(t);
  authority.host = "other.example";
  const { shown, issuer } = start();
  await clock.settle();
  assert.match(issuer.error ?? "", /issued certificate cannot be served: the certificate is not for provider.example/);
  assert.deepEqual([shown, storage().certificate()], [[], undefined]);
  authority.host = host;
  await clock.advance(minute);
  assert.equal(authority.issued.size, 2);
  assert.deepEqual(shown, [[...authority.issued.values()][1]]);
});

test("order that does not finish → timeout, then the same order is continued", async (t) => {
  const { clock, authority, storage, start } = setUpIssuer(t);
  authority.hangs = true;
  const life = start();
  await clock.settle();
  await life.stop();
  assert.equal(storage().attempts.failures, 0, "a requested stop is not a failure");
  const { issuer, shown } = start();
  await clock.advance(10 * minute);
  assert.match(issuer.error ?? "", /has not finished our order within 10 minutes/);
  const { url = "" } = storage().order();
  authority.hangs = false;
  await clock.advance(minute);
  assert.deepEqual(shown, [authority.issued.get(url)]);
});

test("rejected order → a new order; rate-limited order → the same one", async (t) => {
  for (const [status, orders] of [
    [403, 2],
    [429, 1],
    [503, 1],
  ] as const) {
    const { clock, authority, start } = setUpIssuer(t);
    const details = { url: "https://x.example", kind: "malformed", reason: "no", retryAfterMs: 0 };
    authority.error = new ProviderError("AKP_ACME_REFUSED", { ...details, status });
    start();
    await clock.settle();
    authority.error = undefined;
    await clock.advance(minute);
    assert.deepEqual([...authority.issued.keys()], [`https://staging.example/order/${orders}`]);
  }
});

test("authority unreachable repeatedly → a new order", async (t) => {
  for (const [failures, order] of [
    [acmeOrderTries - 1, 1],
    [acmeOrderTries, 2],
  ] as const) {
    const { clock, authority, start } = setUpIssuer(t);
    authority.error = unreachable;
    start();
    await clock.advance((2 ** (failures - 1) - 1) * minute);
    assert.equal(authority.requestedAtMs.length, failures);
    authority.error = undefined;
    await clock.advance(6 * hour);
    assert.deepEqual([...authority.issued.keys()], [`https://staging.example/order/${order}`]);
  }
});

test("wrong clock → no repeated orders", async (t) => {
  const { clock, authority, start } = setUpIssuer(t);
  authority.behindMs = 70 * day;
  const { issuer, shown } = start();
  await clock.advance(7 * hour);
  assert.match(issuer.error ?? "", /due for renewal already by the local clock/);
  assert.ok(authority.issued.size < 10, `${authority.issued.size} in seven hours`);
  assert.equal(shown.length, authority.issued.size, "and what there is, is shown");
});

test("storage not writable → no request to the authority", async (t) => {
  const { clock, dir, authority, start } = setUpIssuer(t);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "orders"), "a file where a folder should be");
  const { issuer } = start();
  await clock.advance(hour);
  assert.match(issuer.error ?? "", /orders/);
  assert.deepEqual([authority.requestedAtMs, issuer.current], [[], undefined]);
});
