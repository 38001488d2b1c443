import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "../config/load.ts";
import { leasesOf } from "./market.ts";

test("the provider lets nobody have a name of the cluster's own domain, as the hostname operator does", () => {
  const flags = { "cluster-domain": "k8s.internal", "deployment-blocked-hostnames": ["www.example.com"] };
  const { values } = loadConfig({ flags, env: {}, readFile: () => "" });
  assert.deepEqual(leasesOf(values).hosts.blockedHosts, ["www.example.com", ".k8s.internal"]);
});
