/** The manifests in deploy/ against the settings of the program that they run, and the order in which the docs apply them. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { settingOf } from "../../src/config/table.ts";
import type { Service } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { createProcess } from "../../src/runtime/process.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

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
    readonly template: { readonly spec: { readonly containers: readonly Container[] } };
  };
}

interface Container {
  readonly ports: readonly Port[];
  readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } };
}

const root = join(import.meta.dirname, "../..");

function documentsIn(path: string): unknown[] {
  return parseAllDocuments(readFileSync(join(root, path), "utf8")).map((document) => document.toJS());
}

const manifests = documentsIn("deploy/provider.yaml") as Manifest[];

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

interface Applied {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** As kubectl takes `-f`: a file, or all files of a folder. */
function appliedBy(argument: string): Applied[] {
  // The copy that the reader makes.
  const path = argument === "my-settings.yaml" ? "deploy/provider-settings.yaml" : argument;
  const isFolder = statSync(join(root, path)).isDirectory();
  const files = isFolder ? readdirSync(join(root, path)).map((name) => join(path, name)) : [path];
  return files.flatMap((file) => documentsIn(file) as Applied[]);
}

test('the commands of "Deploy it" make each namespace before the objects in it', () => {
  const docs = readFileSync(join(root, "docs/operations.md"), "utf8");
  const [, commands = ""] = /^## Deploy it$.*?^```sh$(.*?)^```$/ms.exec(docs) ?? [];
  const lines = commands.split("\n").filter((line) => line.startsWith("kubectl apply "));
  const objects = lines
    .flatMap((line) => Array.from(line.matchAll(/ -f (\S+)/g), ([, path = ""]) => path))
    .flatMap(appliedBy);
  assert.ok(objects.some(({ metadata }) => metadata.name === "operator-hostname"));
  const namespaces = new Set(["default"]);
  for (const { kind, metadata } of objects) {
    const { name, namespace = "default" } = metadata;
    assert.ok(namespaces.has(namespace), `${kind} ${name} is applied before its namespace ${namespace}`);
    if (kind === "Namespace") namespaces.add(name);
  }
});

test("the provider's pod is ready while its gateway runs, and not while a service before it waits to start", async () => {
  const [container] = manifests.find(({ kind }) => kind === "StatefulSet")?.spec.template.spec.containers ?? [];
  const [, line = ""] = /grep --quiet '\^(.+)\$'/.exec(container?.readinessProbe.exec.command.at(-1) ?? "") ?? [];
  const [metrics, clock, exclusive] = [createMetrics(), createVirtualClock(), Promise.withResolvers<void>()];
  const services: Service[] = [
    { name: "exclusive", start: () => exclusive.promise },
    { name: "gateway", start: () => undefined },
  ];
  const stopping = new AbortController();
  const running = createProcess({ services, metrics, clock, log: silentLog }).run(stopping.signal);
  const isReady = async () => {
    await clock.settle();
    return (await metrics.text()).split("\n").includes(line);
  };
  assert.equal(await isReady(), false);
  exclusive.resolve();
  assert.equal(await isReady(), true);
  stopping.abort();
  await running;
});
