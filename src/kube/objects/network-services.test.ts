import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleExpose, sampleLease, sampleService } from "../../../test/support/samples/lease-samples.ts";
import type { ManifestExpose } from "../../market/manifest.ts";
import { networkServices } from "./lease-objects.ts";

const http = sampleExpose;
const game = { ...sampleExpose, port: 7_777 };
const inside = { ...sampleExpose, port: 5_432, global: false };

interface Spec {
  readonly type: string;
  readonly ports: readonly { name: string; port: number; targetPort: number; protocol: string }[];
}

function exposed(...expose: ManifestExpose[]): Record<string, string> {
  const services = networkServices({ lease: sampleLease, service: sampleService({ expose }), offer: undefined });
  return Object.fromEntries(
    services.map(({ object }) => {
      const { type, ports } = object["spec"] as Spec;
      const shown = ports.map(({ name, port, targetPort, protocol }) => `${name} ${port}→${targetPort}/${protocol}`);
      return [object.metadata.name, [type, ...shown].join(", ")];
    }),
  );
}

test("what the ingress or other services reach is inside the cluster, what the world reaches is on the nodes", () => {
  assert.deepEqual(exposed(http, inside, game), {
    web: "ClusterIP, 80-tcp 80→80/TCP, 5432-tcp 5432→5432/TCP",
    "web-np": "NodePort, 7777-tcp 7777→7777/TCP",
  });
  assert.deepEqual(exposed(game), { "web-np": "NodePort, 7777-tcp 7777→7777/TCP" });
  assert.deepEqual(exposed(), {});
});

test("one port serves both protocols", () => {
  assert.deepEqual(exposed(game, { ...game, proto: "UDP" }), {
    "web-np": "NodePort, 7777-tcp 7777→7777/TCP, 7777-udp 7777→7777/UDP",
  });
});

test("a port is named by what it is, whatever stands before it", () => {
  const expected = "NodePort, 7777-tcp 7777→7777/TCP";
  assert.equal(exposed(game)["web-np"], expected);
  assert.equal(exposed({ ...inside, port: 1 }, http, game)["web-np"], expected);
});

test("of two that request the same port outside, the first in the manifest has it", () => {
  const asPort = (port: number) => ({ ...game, port, externalPort: 9_000 });
  assert.deepEqual(exposed(asPort(1), asPort(2)), { "web-np": "NodePort, 9000-tcp 9000→1/TCP" });
});
