/** What the API server passes on to the nodes: logs, commands, and HTTP to pods and services. */
import { type Duplex, Readable } from "node:stream";
import { fieldsOf, recordsOf } from "../../../../kube/json-fields.ts";
import { kinds, objectText } from "../../../../kube/kinds.ts";
import type { CallOptions, KubeObject, LogLine, ObjectAt } from "../../../../kube/kube.ts";
import type { ContainerLog, PodRuntime } from "../../components/kubelet/pod-runtime.ts";
import { isReady, type Pod } from "../../components/shapes/pod.ts";
import { selects } from "../objects/label-selector.ts";
import { badRequest, notFound } from "../objects/rejections.ts";
import { clientError, StatusError } from "../objects/status-error.ts";
import type { Plain } from "../schema/shape.ts";
import { servedOf } from "../served-kinds.ts";
import type { Server } from "../server.ts";
import { type ApiAnswer, type Call, isTrue } from "./api-request.ts";
import type { FaultState } from "./faults.ts";

export interface PodDeps {
  readonly server: Server;
  readonly runtime: PodRuntime;
  readonly faults: FaultState;
}

export function podAt({ store, served }: Server, at: ObjectAt): KubeObject {
  const pod = store.get(servedOf(served, kinds.pod), at);
  if (!pod) throw notFound(kinds.pod, at.name);
  return pod;
}

/** The container that is meant; where there are several, it must be said. */
export function containerOf(pod: KubeObject, wanted: string | undefined): string {
  const spec = fieldsOf(pod["spec"]);
  const names = recordsOf(spec["containers"]).map(({ name }) => String(name));
  const { name } = pod.metadata;
  if (wanted) {
    if (names.includes(wanted)) return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${name}`);
  }
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${names.join(" ")}]`);
}

export function readLog({ server, runtime, faults }: PodDeps, at: ObjectAt, { query }: Call): ApiAnswer {
  const pod = podAt(server, at);
  const container = containerOf(pod, query.get("container") ?? undefined);
  const headers = { "content-type": "text/plain" };
  if (!fieldsOf(pod["spec"])["nodeName"]) return { status: 200, headers, body: "" };
  const log = runtime.logs(pod, container, { previous: isTrue(query.get("previous")) });
  const isTimed = isTrue(query.get("timestamps"));
  const write = ({ time, text }: LogLine) => (isTimed ? `${time} ${text}\n` : `${text}\n`);
  const lines = chosenLines(log.lines, query);
  if (!isTrue(query.get("follow"))) return { status: 200, headers, body: lines.map(write).join("") };
  return { status: 200, headers, body: followed(log, lines, write, faults.logs) };
}

/** Unread log lines stay on the node, up to its log size. */
function followed(
  log: ContainerLog,
  lines: readonly LogLine[],
  write: (line: LogLine) => string,
  open: Set<Readable>,
): Readable {
  /** Of what was there at the start; it can be gone through in parts. */
  const rest = lines[Symbol.iterator]();
  let last = "";
  let [isFull, isOver] = [false, false];
  const isOpen = () => !body.destroyed && !body.readableEnded && open.has(body);

  function push(some: Iterable<LogLine>): void {
    for (const line of some) {
      last = line.time;
      isFull = !body.push(write(line));
      if (isFull) return;
    }
  }

  function pushAll(): void {
    isFull = false;
    push(rest);
    if (!isFull) push(log.lines.filter(({ time }) => time > last));
    if (isOver && !isFull) body.push(null);
  }

  const body = new Readable({
    read() {
      if (isFull && isOpen()) pushAll();
    },
  });
  body.on("error", () => undefined);
  open.add(body);
  push(rest);
  const stop = log.follow({
    line: (line) => void (isOpen() && !isFull && push([line])),
    end() {
      isOver = true;
      if (isOpen() && !isFull) body.push(null);
    },
  });
  body.on("close", () => {
    open.delete(body);
    stop();
  });
  return body;
}

/** To the second: nodes keep finer times, but the API does not take them. */
function chosenLines(lines: readonly LogLine[], query: URLSearchParams): readonly LogLine[] {
  const since = query.get("sinceTime")?.slice(0, 19) ?? "";
  const tail = query.get("tailLines");
  const recent = lines.filter(({ time }) => time.slice(0, 19) >= since);
  if (tail === null) return recent;
  return Number(tail) === 0 ? [] : recent.slice(-Number(tail));
}

/** `name` is as in the address: "web", "web:80", "https:web:http". */
export async function proxyTo(deps: PodDeps, kind: "pods" | "services", at: ObjectAt, call: Call): Promise<ApiAnswer> {
  const [, , name = "", port = ""] = /^(?:(https?):)?([^:]+)(?::([^:]*))?$/.exec(at.name) ?? [];
  const target = { namespace: at.namespace, name };
  const found = kind === "pods" ? podTarget(deps, target, port) : serviceTarget(deps, target, port);
  const path = call.path.slice(call.path.indexOf("/proxy") + "/proxy".length) || "/";
  const { method, headers, body = "" } = call;
  return deps.runtime.http(found.pod, found.port, { method, path, headers, body: Buffer.from(body) });
}

/** A real API server opens the connection first, and says on it that the port rejects. */
export async function forwardTo(
  at: ObjectAt,
  port: number,
  { signal }: CallOptions,
  { server, runtime, faults }: PodDeps,
): Promise<Duplex> {
  const operation = { verb: "connect to", resource: objectText(kinds.pod, at) };
  signal?.throwIfAborted();
  try {
    faults.check({ verb: "get", resource: "pods", path: `${at.namespace}/${at.name}/portforward`, dryRun: false });
    const connection = runtime.connect(podAt(server, at), port);
    signal?.addEventListener("abort", () => void connection.destroy(), { once: true });
    return connection;
  } catch (thrown) {
    throw thrown instanceof StatusError ? clientError(thrown, operation) : thrown;
  }
}

interface Target {
  readonly pod: KubeObject;
  readonly port: number;
}

function podTarget({ server }: PodDeps, at: ObjectAt, port: string): Target {
  const pod = podAt(server, at);
  const [container] = recordsOf(fieldsOf(pod["spec"])["containers"]);
  const [first] = recordsOf(container?.["ports"]);
  return { pod, port: Number(port || (first?.["containerPort"] ?? 80)) };
}

/** One of the ready pods behind a port of the service, by its number or name. */
function serviceTarget({ server }: PodDeps, at: ObjectAt, wanted: string): Target {
  const { store, served } = server;
  const service = store.get(servedOf(served, kinds.service), at);
  if (!service) throw notFound(kinds.service, at.name);
  const ports = recordsOf(fieldsOf(service["spec"])["ports"]);
  const port = wanted === "" ? ports[0] : ports.find(({ name, port: number }) => [name, `${number}`].includes(wanted));
  if (!port) throw unavailable(`no service port "${wanted}" found for service "${at.name}"`);
  const matchLabels = fieldsOf(fieldsOf(service["spec"])["selector"]) as Record<string, string>;
  const isBehind = ({ metadata }: Pod) =>
    metadata.namespace === at.namespace &&
    Object.keys(matchLabels).length > 0 &&
    selects({ matchLabels }, metadata.labels);
  const pods = store.list(servedOf(served, kinds.pod)) as readonly Pod[];
  const pod = pods.find((each) => isBehind(each) && isReady(each));
  const number = pod && targetPort(port, pod);
  if (!pod || number === undefined) throw unavailable(`no endpoints available for service "${at.name}"`);
  return { pod, port: number };
}

/** A number, or the name that a container of the pod gave it. */
function targetPort({ targetPort: target }: Plain, { spec }: Pod): number | undefined {
  if (typeof target === "number") return target;
  const ports = spec.containers.flatMap((container) => container.ports ?? []);
  return ports.find(({ name }) => name === target)?.containerPort;
}

function unavailable(message: string): StatusError {
  return new StatusError(503, "ServiceUnavailable", message);
}
