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

test("nothing is bid before an ingress domain and the public host name are set", () => {
  const missing = (flags: Record<string, string>) =>
    bidEngineOf(loadConfig({ flags, env: {}, readFile: () => "" }).values).missingSettings;
  const [domain, host] = [
    "--deployment-ingress-domain (with --deployment-ingress-static-hosts)",
    "--cluster-public-hostname",
  ];
  assert.deepEqual(missing({}), [domain, host]);
  assert.deepEqual(missing({ "deployment-ingress-domain": "ingress.example.com" }), [host]);
  const both = { "deployment-ingress-domain": "ingress.example.com", "cluster-public-hostname": "p.example.com" };
  assert.deepEqual(missing(both), []);
});
