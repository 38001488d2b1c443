import assert from "node:assert/strict";
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { type MadeCertificate, makeCertificate } from "../../chain/certificates/make-certificate.ts";
import { parseAddress } from "../../market/address.ts";
import { followedFileMs } from "../../runtime/limits.ts";
import { silentLog } from "../../runtime/log.ts";
import { followCertificateFiles } from "./file-certificate.ts";

const hour = 3_600_000;
const day = 86_400_000;
const host = "provider.example";
const owner = parseAddress("akash1pzhdmwnzzscqes69qjuk46e8tq2wtcd2h68uhz");
let serial = 1n;

function setUp(t: TestContext) {
  const clock = createVirtualClock();
  const folder = temporaryFolder(t);
  const files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key") };
  const changes: (string | undefined)[] = [];
  return {
    ...{ clock, folder, changes },
    make: (days: number, name = host) => {
      const times = { fromMs: clock.now() - day, untilMs: clock.now() + days * day };
      return makeCertificate({ owner, hosts: [name], isServer: true, serial: serial++, ...times });
    },
    write({ certificate, key }: Pick<MadeCertificate, "certificate" | "key">) {
      writeFileSync(files.certificate, certificate);
      writeFileSync(files.key, key);
    },
    follow(name: string | undefined = host) {
      const followed = followCertificateFiles(files, name, { clock, log: silentLog });
      t.after(followed.close);
      followed.onChange(() => changes.push(followed.current?.certificate));
      return followed;
    },
    look: () => clock.advance(followedFileMs),
  };
}

test("files that come later are served, and read again when they change", async (t) => {
  const { make, write, follow, look, changes } = setUp(t);
  const followed = follow();
  assert.equal(followed.current, undefined);
  assert.match(followed.error ?? "", /is not there/);
  const [first, second] = [make(90), make(180)];
  write(first);
  await look();
  assert.partialDeepStrictEqual(followed.current, { certificate: first.certificate, key: first.key });
  assert.equal(followed.error, undefined);
  await look();
  write(second);
  await look();
  assert.deepEqual(changes, [first.certificate, second.certificate]);
});

test("incomplete chain → not served, the previous certificate stays", async (t) => {
  const { make, write, follow, look, changes } = setUp(t);
  const [first, second] = [make(90), make(180)];
  write(first);
  const followed = follow();
  const half = first.certificate.slice(0, first.certificate.length / 2);
  write({ certificate: `${second.certificate}${half}`, key: second.key });
  await look();
  assert.partialDeepStrictEqual(followed.current, { certificate: first.certificate, key: first.key });
  assert.match(followed.error ?? "", /PEM/);
  write(second);
  await look();
  assert.deepEqual([changes, followed.error], [[second.certificate], undefined]);
});

test("symlink swap as by Kubernetes → one change", async (t) => {
  const { folder, make, follow, look, changes } = setUp(t);
  const put = (name: string, { certificate, key }: MadeCertificate) => {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "tls.crt"), certificate);
    writeFileSync(join(folder, name, "tls.key"), key);
    symlinkSync(name, join(folder, "..data.new"));
    renameSync(join(folder, "..data.new"), join(folder, "..data"));
  };
  const [first, second] = [make(90), make(180)];
  put("..1", first);
  for (const name of ["tls.crt", "tls.key"]) symlinkSync(join("..data", name), join(folder, name));
  const followed = follow();
  assert.equal(followed.current?.certificate, first.certificate);
  put("..2", second);
  await look();
  assert.equal(followed.current?.certificate, second.certificate);
  assert.deepEqual(changes, [second.certificate]);
});

test("invalid certificate → error, the previous one stays", async (t) => {
  const { make, write, follow, look } = setUp(t);
  const good = make(90);
  write(good);
  const followed = follow();
  const cases: readonly [Pick<MadeCertificate, "certificate" | "key">, RegExp][] = [
    [{ certificate: make(90).certificate, key: good.key }, /key does not belong/],
    [make(-0.5), /the certificate ended at/],
    [make(90, "other.example"), /is not for provider.example/],
    [{ certificate: "nonsense", key: good.key }, /./],
    [{ certificate: good.certificate, key: "" }, /./],
  ];
  for (const [pair, reason] of cases) {
    write(pair);
    await look();
    assert.match(followed.error ?? "", reason);
    assert.equal(followed.current?.certificate, good.certificate);
  }
});

test("expired certificate → not served", async (t) => {
  const { clock, make, write, follow, look, changes } = setUp(t);
  write(make(1));
  const followed = follow();
  assert.ok(followed.current);
  clock.jump(2 * day);
  await look();
  assert.equal(followed.current, undefined);
  assert.match(followed.error ?? "", /the certificate ended at/);
  assert.deepEqual(changes, [undefined]);
});

test("certificate not valid yet → served from its begin, the previous one until then", async (t) => {
  const { clock, make, write, follow, look, changes } = setUp(t);
  const first = make(90);
  write(first);
  const followed = follow();
  const times = { fromMs: clock.now() + hour, untilMs: clock.now() + 90 * day };
  const next = makeCertificate({ owner, hosts: [host], isServer: true, serial: serial++, ...times });
  write(next);
  await look();
  assert.partialDeepStrictEqual(followed.current, { certificate: first.certificate });
  assert.match(followed.error ?? "", /the certificate begins at/);
  await clock.advance(hour);
  assert.deepEqual([changes, followed.error], [[next.certificate], undefined]);
});
