import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "../config/load.ts";
import { bidEngineOf, leasesOf } from "./market.ts";

test("the provider lets nobody have a name of the cluster's own domain, as the hostname operator does", () => {
  const flags = { "cluster-domain": "k8s.internal", "deployment-blocked-hostnames": ["www.example.com"] };
  const { values } = loadConfig({ flags, env: {}, readFile: () => "" });
  assert.deepEqual(leasesOf(values).hosts.blockedHosts, ["www.example.com", ".k8s.internal"]);
});

test("whether host names are proven is what the hostname operator goes by too", () => {
  for (const isProven of [true, false]) {
    const { values } = loadConfig({ flags: { "hostname-proof": `${isProven}` }, env: {}, readFile: () => "" });
    assert.equal(leasesOf(values).hosts.asksForProof, isProven);
  }
});

test("nothing is bid before services get host names below an ingress domain and the public host name is set", () => {
  const missing = (flags: Record<string, string>) =>
    bidEngineOf(loadConfig({ flags, env: {}, readFile: () => "" }).values).missingSettings;
  const [hosts, name] = [
    "--deployment-ingress-static-hosts (with --deployment-ingress-domain)",
    "--cluster-public-hostname",
  ];
  const domain = { "deployment-ingress-domain": "ingress.example.com" };
  const given = { ...domain, "deployment-ingress-static-hosts": "true" };
  assert.deepEqual(missing({}), [hosts, name]);
  assert.deepEqual(missing(domain), [hosts, name], "a service on port 80 without a host name would be rejected");
  assert.deepEqual(missing(given), [name]);
  assert.deepEqual(missing({ ...given, "cluster-public-hostname": "p.example.com" }), []);
});
