/** Certificates issued by a real ACME authority: Pebble, that of Let's Encrypt's own tests. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { type TestContext, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { controlPlaneMissing } from "../../lab/own-control-plane.ts";
import { type OwnPebble, startPebble } from "../../lab/pebble/own-pebble.ts";
import { type IssuerOptions, openIssuer } from "../../src/gateway/acme/open-issuer.ts";
import { openBoundary } from "../../src/runtime/boundary.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createSeededRandom } from "../../src/runtime/random.ts";
import { eventually } from "../eventually.ts";
import { temporaryFolder } from "../folder.ts";

const skip = controlPlaneMissing(["pebble"]);
const host = "provider.example.com";
const email = "operator@example.com";

function optionsOf(pebble: OwnPebble, dir: string, parts: Partial<IssuerOptions> = {}): IssuerOptions {
  // As NODE_EXTRA_CA_CERTS does it for an operator.
  setDefaultCACertificates([...getCACertificates("bundled").slice(0, 1), pebble.authorityPem]);
  return { directoryUrl: pebble.directoryUrl, email, dir, httpPort: 0, tlsPort: 0, listenHost: "127.0.0.1", ...parts };
}

function start(t: TestContext, options: IssuerOptions, boundary = openBoundary) {
  const random = createSeededRandom(1);
  const issuer = openIssuer(options, host, { clock: realClock, random, log: silentLog, boundary });
  const abort = new AbortController();
  const running = issuer.run(abort.signal);
  const stop = async () => {
    abort.abort();
    await running;
  };
  t.after(stop);
  return { issuer, stop };
}

for (const [kind, ports] of [
  ["http-01", ({ httpPort }: OwnPebble) => ({ httpPort })],
  ["tls-alpn-01", ({ tlsPort }: OwnPebble) => ({ tlsPort })],
] as const) {
  test(`a certificate is issued by ${kind}, and the next start shows the same one`, { skip }, async (t) => {
    const pebble = await startPebble(t, { refusedNonces: 20 });
    const options = optionsOf(pebble, temporaryFolder(t), ports(pebble));
    const first = start(t, options);
    const { certificate } = await eventually("a certificate", () => {
      if (first.issuer.trouble) throw new Error(first.issuer.trouble);
      return first.issuer.current;
    });
    const leaf = new X509Certificate(certificate);
    assert.equal(leaf.checkHost(host), host);
    assert.equal(leaf.publicKey.asymmetricKeyDetails?.namedCurve, "secp384r1");
    await first.stop();
    const second = start(t, { ...options, httpPort: 0, tlsPort: 0 });
    assert.equal((await eventually("the same one", () => second.issuer.current)).certificate, certificate);
    assert.deepEqual(second.issuer.counts, { issued: 0, failed: 0 });
  });
}
