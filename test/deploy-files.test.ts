/** The manifests in deploy/ against the settings of the program that they run. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { settingOf } from "../src/config/table.ts";

interface Port {
  readonly name?: string;
  readonly port?: number | string;
  readonly containerPort?: number;
  readonly targetPort?: string;
}

interface Manifest {
  readonly kind: string;
  readonly spec: {
    readonly ports: readonly Port[];
    readonly ingress: readonly { readonly ports: readonly Port[]; readonly from?: unknown }[];
    readonly template: { readonly spec: { readonly containers: readonly { readonly ports: readonly Port[] }[] } };
  };
}

const documents = parseAllDocuments(readFileSync(join(import.meta.dirname, "../deploy/provider.yaml"), "utf8"));
const manifests = documents.map((document) => document.toJS() as Manifest);

test("the provider's container, Service and NetworkPolicy open the ports of both gateways", () => {
  const specOf = (kind: string) => manifests.find((each) => each.kind === kind)?.spec;
  const listen = [settingOf("gatewayListenAddress"), settingOf("gatewayGrpcListenAddress")];
  const ports = listen.map((setting) => Number(String(setting.default).split(":").at(-1)));
  assert.deepEqual(ports, [8443, 8444]);
  const containerPorts = specOf("StatefulSet")?.template.spec.containers[0]?.ports ?? [];
  const names = ports.map((port) => containerPorts.find(({ containerPort }) => containerPort === port)?.name);
  const servicePorts = specOf("Service")?.ports ?? [];
  assert.deepEqual(
    ports.map((port) => servicePorts.find((each) => each.port === port)?.targetPort),
    names,
  );
  const open = (specOf("NetworkPolicy")?.ingress ?? []).filter(({ from }) => from === undefined);
  assert.deepEqual(
    open.flatMap((rule) => rule.ports.map(({ port }) => port)),
    names,
  );
});
