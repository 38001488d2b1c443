/** Answers on a node what that node has. It runs in the discovery pod, and only reads. */
import type { ServerResponse } from "node:http";
import { type Clock, withDeadline } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { type ListenAddress, type Listener, listen } from "../../../runtime/listener.ts";
import type { Log } from "../../../runtime/log.ts";
import { type DiscoverOptions, type Survey, survey } from "./discover.ts";
import { isGpu, type PciDevice } from "./gpus.ts";
import type { LogicalProcessor, ProcessorPackage } from "./processors.ts";

/** Reading everything takes milliseconds; if a driver hangs, whoever asks hears so before he gives up. */
export const discoveryAnswerMs = 4 * second;
/** How old an answer may be, so that many askers cost no more than one. */
export const discoveryFreshMs = second;
/** A request is a line, and the askers are on the same network. */
const discoveryRequestMs = 5 * second;
/** Connections at once: one operator, a probe, and a person with curl. */
const discoveryConnections = 64;

// Not imported, for that would also load what this module only offers, fetch among it: 13 MB on every node.
const { createServer } = process.getBuiltinModule("node:http");

export interface DiscoveryServerOptions extends DiscoverOptions, ListenAddress {
  readonly clock: Clock;
  readonly log: Log;
  /** How the node is read; tests have nodes that hang. */
  readonly look?: (options: DiscoverOptions) => Promise<Survey>;
}

/** By path: the whole, and the shapes of the network's own discovery, for clients that know those. */
const views: Readonly<Record<string, (survey: Survey) => unknown>> = {
  "/": ({ hardware }) => hardware,
  "/hardware": ({ hardware }) => hardware,
  "/cpu": ({ packages }) => ({
    total_cores: sum(packages.map((each) => coresOf(each).size)),
    ...threads(sum(packages.map(({ processors }) => processors.length))),
    processors: packages.map(showPackage),
  }),
  "/gpu": ({ pciDevices }) => ({
    cards: pciDevices.filter(isGpu).map((device, index) => ({ address: device.address, index, pci: showPci(device) })),
  }),
  "/memory": ({ hardware, pageSizes }) => ({
    // What the firmware keeps for itself is in thousands of files, and nobody asks.
    total_physical_bytes: hardware.memory.totalBytes,
    total_usable_bytes: hardware.memory.totalBytes,
    supported_page_sizes: pageSizes,
  }),
  "/pci": ({ pciDevices }) => ({ devices: pciDevices.map(showPci) }),
};

export async function serveDiscovery(options: DiscoveryServerOptions): Promise<Listener> {
  const { host, port, log } = options;
  const latest = createLatest(options);

  async function answer(method: string | undefined, path: string, response: ServerResponse): Promise<void> {
    if (method !== "GET") return send(response, 405, "only GET is answered here\n", { allow: "GET" });
    if (path === "/health") return send(response, 200, "ok\n");
    const view = Object.hasOwn(views, path) ? views[path] : undefined;
    if (!view) return send(response, 404, `here are ${Object.keys(views).join(", ")} and /health\n`);
    const body = JSON.stringify(view(await latest()));
    return send(response, 200, body, { "content-type": "application/json; charset=UTF-8" });
  }

  const server = createServer((request, response) => {
    const [path = "/"] = (request.url ?? "/").split("?");
    answer(request.method, path, response).catch((thrown: unknown) => {
      const error = ProviderError.from(thrown);
      log.error("failed to answer a request", { error });
      send(response, error.entry.http, `${error.message}\n`);
    });
  });
  server.headersTimeout = discoveryRequestMs;
  server.requestTimeout = discoveryRequestMs;
  const names = { what: "discovery", setting: "--api-port" };
  return listen(server, { host, port, ...names, connections: discoveryConnections, log });
}

/** The node is read when somebody asks, not more often than it can change, and once for all who ask meanwhile. */
function createLatest(options: DiscoveryServerOptions): () => Promise<Survey> {
  const { clock, look = survey } = options;
  let reading: Promise<Survey> | undefined;
  let last: { survey: Survey; atMs: number } | undefined;

  async function read(): Promise<Survey> {
    try {
      const found = await look(options);
      last = { survey: found, atMs: clock.monotonicMs() };
      return found;
    } finally {
      reading = undefined;
    }
  }

  return async () => {
    if (last && clock.monotonicMs() - last.atMs < discoveryFreshMs) return last.survey;
    reading ??= read();
    return withDeadline(clock, discoveryAnswerMs, reading, () => {
      throw new ProviderError("AKP_DISCOVERY_LATE", { limitMs: discoveryAnswerMs });
    });
  };
}

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "text/plain", ...headers }).end(body);
}

function showPackage(each: ProcessorPackage) {
  return {
    id: Number(each.id),
    total_cores: coresOf(each).size,
    ...threads(each.processors.length),
    vendor: each.vendor,
    model: each.model,
    capabilities: each.features,
    cores: [...coresOf(each)].map(([id, members]) => ({
      id,
      ...threads(members.length),
      logical_processors: members.map(({ index }) => index),
    })),
  };
}

function coresOf({ processors }: ProcessorPackage): Map<number, LogicalProcessor[]> {
  return Map.groupBy(processors, ({ coreId }) => coreId);
}

/** Newer clients read the first name, older ones the second. */
function threads(count: number) {
  return { total_hardware_threads: count, total_threads: count };
}

function showPci(device: PciDevice) {
  const { driver, address, vendorId, deviceId, subsystemDeviceId, revision, classCode } = device;
  return {
    driver: driver ?? "",
    address,
    vendor: named(vendorId),
    product: named(deviceId),
    revision,
    subsystem: named(subsystemDeviceId),
    class: named(classCode.slice(0, 2)),
    subclass: named(classCode.slice(2, 4)),
    programming_interface: named(classCode.slice(4)),
  };
}

/** The ids are what counts; we carry no list of names. */
function named(id: string) {
  return { id, name: "unknown" };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
