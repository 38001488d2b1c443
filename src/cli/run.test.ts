import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "../config/load.ts";
import { gatewayOf } from "./run.ts";

function issuerOf(flags: Record<string, string | true>, env: Record<string, string> = {}) {
  const given = { home: "/home/akash", "cluster-public-hostname": "p.example.com", ...flags };
  const loaded = loadConfig({ flags: given, env, readFile: () => "" });
  return gatewayOf(loaded).certificate?.issuer;
}

test("an issuer is set up from the network's flags, and only where it is asked for", () => {
  assert.equal(issuerOf({ "cert-issuer-email": "me@example.com" }), undefined);
  const asked = { "cert-issuer-enabled": true, "cert-issuer-email": "me@example.com" } as const;
  assert.deepEqual(issuerOf({ ...asked, "cert-issuer-http-challenge-port": "5002" }), {
    directoryUrl: "https://acme-staging-v02.api.letsencrypt.org/directory",
    ...{ email: "me@example.com", dir: "/home/akash/.certissuer", httpPort: 5002, tlsPort: 0 },
  });
  const bound = issuerOf({ ...asked, "cert-issuer-kid": "1" }, { AP_CERT_ISSUER_HMAC: "c2VjcmV0" });
  assert.deepEqual(bound?.binding, { kid: "1", hmacKey: "c2VjcmV0" });
});
