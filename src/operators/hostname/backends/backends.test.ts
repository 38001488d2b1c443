/** What each back end makes of one directive; the recorded objects are held against them in test/. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { leaseOf } from "../../../../test/support/stages/declaration-stage.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { type Directive, defaultOptions } from "../directive.ts";
import { createNginxBackend } from "./backend.ts";
import { createGatewayBackend, fabricSize } from "./gateway-api.ts";
import { createTraefikBackend } from "./traefik.ts";

const lease = leaseOf(1, 1);
const tls = { secret: undefined, issuer: undefined };
const gateway = { gatewayName: "gw", gatewayNamespace: "gw", proxyBufferSize: "16k", tls };

function directive(options: Partial<Directive["options"]> = {}, host = "a.example.com"): Directive {
  const where = { host, lease, namespace: leaseNamespace(lease), service: "web", externalPort: 80 };
  return { ...where, options: { ...defaultOptions, ...options }, unsupported: [], longestReadMs: 60_000 };
}

const annotationsOf = (options: Partial<Directive["options"]>) =>
  createNginxBackend({ ingressClass: "c", tls }).build(directive(options), () => true).route.object.metadata
    .annotations;

test("NGINX counts in whole seconds, rounded up, and names statuses its own way", () => {
  const prefix = "nginx.ingress.kubernetes.io/proxy-";
  const annotations = annotationsOf({ readTimeout: 1, nextTimeout: 0, nextCases: ["error", "502", "off"] });
  assert.equal(annotations?.[`${prefix}read-timeout`], "1");
  assert.equal(annotations?.[`${prefix}next-upstream-timeout`], "0");
  assert.equal(annotations?.[`${prefix}next-upstream`], "error http_502 off");
  assert.equal(annotations?.[`${prefix}buffer-size`], undefined);
  assert.equal(annotationsOf({ proxyBufferSize: 32_768 })?.[`${prefix}buffer-size`], "32768");
});

test("default options cause no conditions with any controller", () => {
  const backends = [
    createNginxBackend({ ingressClass: "c", tls }),
    createTraefikBackend({ ingressClass: "c", tls }),
    createGatewayBackend({ ...gateway, gatewayProvider: "nginx" }),
    createGatewayBackend({ ...gateway, gatewayProvider: "traefik" }),
  ];
  for (const backend of backends) assert.deepEqual(backend.build(directive(), () => true).unhonoured, [], backend.name);
});

test("Traefik gets retry and buffering Middlewares only for requested options", () => {
  const kindsOf = (options: Partial<Directive["options"]>) =>
    createTraefikBackend({ ingressClass: "c", tls })
      .build(directive(options), () => true)
      .parts.flatMap(({ object }) => Object.keys(object["spec"] as object));
  assert.deepEqual(kindsOf({}), ["retry"]);
  assert.deepEqual(kindsOf({ nextCases: ["off"] }), []);
  assert.deepEqual(kindsOf({ nextTries: 1 }), []);
  assert.deepEqual(kindsOf({ maxBodySize: 5_000 }), ["buffering", "retry"]);
});

test("a wildcard gets a valid object name and stays in the route", () => {
  const { route, parts } = createTraefikBackend({ ingressClass: "c", tls }).build(
    directive({}, "*.example.com"),
    () => true,
  );
  assert.match(route.object.metadata.name, /^hashed-[0-9a-v]{52}$/);
  assert.equal((route.object["spec"] as { rules: { host: string }[] }).rules[0]?.host, "*.example.com");
  assert.match(parts[0]?.object.metadata.name ?? "", /^akash-[0-9a-v]{24}-retry$/);
});

test("Traefik's priority puts a wildcard after exact names and before catch-all rules", () => {
  const priorityOf = (host: string) =>
    createTraefikBackend({ ingressClass: "c", tls }).build(directive({}, host), () => true).route.object.metadata
      .annotations?.["traefik.ingress.kubernetes.io/router.priority"];
  assert.equal(priorityOf("a.example.com"), undefined);
  const priority = Number(priorityOf("*.example.com"));
  // Traefik reckons with the length of its rules.
  assert.ok("PathPrefix(`/`)".length < priority && priority < "Host(`a.bc`) && PathPrefix(`/`)".length);
});

test("a size of the Fabric has four digits at most and is never smaller", () => {
  const sizes = [0, 9_999, 10_000, 1_048_576, 3_145_728, 104_857_600, 2 ** 35].map(fabricSize);
  assert.deepEqual(sizes, ["0", "9999", "10k", "1024k", "3072k", "100m", "32g"]);
});
