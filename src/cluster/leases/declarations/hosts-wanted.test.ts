import assert from "node:assert/strict";
import { test } from "node:test";
import { groupOf, leaseOf } from "../../../../test/support/stages/declaration-stage.ts";
import type { LeaseId } from "../../../market/ids.ts";
import { staticHost } from "../../../market/lease-namespace.ts";
import { ingressHostsIn } from "../../../market/manifest.ts";
import { hostsWanted } from "./hostnames.ts";

const lease = leaseOf(1, 1);
const off = { staticHostDomain: undefined };

test("the static host of a service is the network's", () => {
  const known = { owner: "akash1owner", dseq: 123n, gseq: 1, oseq: 1, provider: "akash1provider", bseq: 0 };
  assert.equal(
    staticHost(known as unknown as LeaseId, "web", "ingress.example.com"),
    "52kjd21loldbvd33rcvgeafdeo.ingress.example.com",
  );
});

test("only what is global, TCP and on external port 80 is reached by host names", () => {
  const names = (...expose: Parameters<typeof groupOf>) =>
    hostsWanted({ lease, group: groupOf(...expose) }, off).map(({ host, externalPort }) => `${host}:${externalPort}`);
  assert.deepEqual(names({ hosts: ["A.example.com", "b.example.com"] }), ["a.example.com:80", "b.example.com:80"]);
  assert.deepEqual(names({ port: 80, externalPort: 0, hosts: ["a.example.com"] }), ["a.example.com:80"]);
  assert.deepEqual(names({ externalPort: 81, hosts: ["a.example.com"] }), []);
  assert.deepEqual(names({ proto: "UDP", hosts: ["a.example.com"] }), []);
  assert.deepEqual(names({ global: false, hosts: ["a.example.com"] }), []);
  assert.deepEqual(names({ hosts: null }), []);
  assert.deepEqual(names({ hosts: ["a.example.com"] }, { hosts: ["a.example.com"] }), ["a.example.com:80"]);
});

test("with static hosts each service over HTTP has one of its own, also where it names it itself", () => {
  const own = staticHost(lease, "web", "ingress.example.com");
  const wanted = hostsWanted(
    { lease, group: groupOf({ hosts: [own, "a.example.com"] }, { hosts: ["b.example.com"] }, { externalPort: 9_000 }) },
    { staticHostDomain: "ingress.example.com" },
  );
  assert.deepEqual(
    wanted.map(({ host, service }) => [host, service]),
    [
      [own, "web"],
      ["a.example.com", "web"],
      ["b.example.com", "web"],
    ],
  );
});

test("a name that is kept for a lease until it is declared is one that it declares", () => {
  const group = groupOf({ hosts: ["a.example.com"] }, { hosts: ["b.example.com"], externalPort: 9999 });
  assert.deepEqual(
    hostsWanted({ lease, group }, off).map(({ host }) => host),
    ingressHostsIn(group),
  );
});
