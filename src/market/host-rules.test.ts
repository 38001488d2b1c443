import assert from "node:assert/strict";
import { test } from "node:test";
import { blockedText } from "./host-names.ts";

const rules = { blockedHosts: [], ingressDomain: undefined, publicHost: undefined };

test("a wildcard over a public suffix is blocked, of registries and of hosting companies alike", () => {
  const suffixes = [
    ...["com", "co.uk", "com.br", "com.au", "co.jp", "in.net", "eu.org", "xn--55qx5d.cn"],
    ...["duckdns.org", "github.io", "vercel.app", "blogspot.com", "s3.amazonaws.com"],
    // Each name below these is a public suffix.
    ...["ck", "compute.amazonaws.com"],
  ];
  for (const suffix of suffixes)
    assert.equal(blockedText(`*.${suffix}`, rules), `"*.${suffix}" is blocked by this provider`, suffix);
});

test("names below public suffixes, wildcards over them, and domains of private networks are not blocked", () => {
  const allowed = ["example.com", "shop.co.uk", "ann.duckdns.org", "a.ann.github.io", "apps.cluster.local"];
  for (const domain of allowed)
    for (const host of [domain, `*.${domain}`]) assert.equal(blockedText(host, rules), undefined);
});
