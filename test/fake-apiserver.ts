/**
 * Enough of a Kubernetes API server to be cut off, frozen, compacted and refused by: lists in pages, watches with
 * bookmarks, server-side apply, deletes with preconditions, logs, exec and the proxy.
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { WebSocketServer } from "ws";
import type { KubeObject } from "../src/kube/kube.ts";
import { type Clock, realClock, type Timer } from "../src/runtime/clock.ts";
import { serveExec } from "./fake-exec.ts";
import { applyTo, Conflict, editedBy, managedFieldsOf, type Owners, type Plain } from "./fake-fields.ts";
import type { Owner } from "./owner.ts";

interface Happening {
  readonly version: number;
  readonly plural: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
  readonly before: KubeObject | undefined;
}

interface Stored {
  object: KubeObject;
  readonly owners: Owners;
}

interface OpenWatch {
  tell(happening: Happening): void;
  write(text: string): void;
  readonly response: ServerResponse;
  dead: boolean;
}

export interface FakeLog {
  readonly lines: string[];
  running: boolean;
}

export interface FakeRefusal {
  readonly status: number;
  readonly headers?: Record<string, string>;
  /** Only for requests whose method and path contain this: "GET /api/v1/pods". */
  readonly only?: string;
}

export type FakeApi = Awaited<ReturnType<typeof startFakeApi>>;

const pathPattern =
  /^\/(?:api\/v1|apis\/([^/]+)\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/[^/]))?\/([^/]+)(?:\/([^/]+))?(?:\/(.+))?$/;

export interface FakeApiOptions {
  readonly clock?: Clock;
  /** Objects of a page, however many were asked for. */
  readonly pageObjects?: number;
}

export async function startFakeApi(owner: Owner, { clock = realClock, pageObjects = 500 }: FakeApiOptions = {}) {
  const stored = new Map<string, Map<string, Stored>>();
  const history: Happening[] = [];
  const watches = new Set<OpenWatch>();
  const pages = new Map<string, { version: number; rest: KubeObject[] }>();
  const refusals: FakeRefusal[] = [];
  const hidden = new Set<string>();
  const forbidden = new Set<string>();
  const requests: string[] = [];
  const logs = new Map<string, FakeLog>();
  const followers = new Set<{ key: string; response: ServerResponse }>();
  let version = 100;
  let compactedAt = 0;
  let uids = 0;
  let tokens = 0;
  let token: string | undefined;

  const ofKind = (plural: string) => {
    const found = stored.get(plural) ?? new Map<string, Stored>();
    stored.set(plural, found);
    return found;
  };

  function commit(plural: string, type: Happening["type"], object: KubeObject, owners: Owners): KubeObject {
    version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(version), managedFields: managedFieldsOf(owners) };
    const now = { ...object, metadata };
    const key = `${metadata.namespace ?? ""}/${metadata.name}`;
    const before = ofKind(plural).get(key)?.object;
    if (type === "DELETED") ofKind(plural).delete(key);
    else ofKind(plural).set(key, { object: now, owners });
    const happening = { version, plural, type, object: now, before };
    history.push(happening);
    for (const watch of watches) watch.tell(happening);
    return now;
  }

  function create(plural: string, object: KubeObject, owners: Owners): KubeObject {
    uids += 1;
    return commit(plural, "ADDED", { ...object, metadata: { ...object.metadata, uid: `uid-${uids}` } }, owners);
  }

  function put(plural: string, object: KubeObject, manager = "hand"): KubeObject {
    const key = `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
    const before = ofKind(plural).get(key);
    const owners: Owners = before?.owners ?? new Map();
    editedBy((before?.object ?? {}) as Plain, object as Plain, manager, owners);
    if (!before) return create(plural, object, owners);
    return commit(plural, "MODIFIED", { ...object, metadata: { ...object.metadata, ...uidOf(before) } }, owners);
  }

  function remove(plural: string, key: string): void {
    const before = ofKind(plural).get(key);
    if (before) commit(plural, "DELETED", before.object, before.owners);
  }

  function refuse(response: ServerResponse, status: number, message: string, more: Plain = {}): void {
    response.writeHead(status, { "content-type": "application/json", ...(more["headers"] as object) });
    const { headers: _, ...fields } = more;
    response.end(JSON.stringify({ kind: "Status", status: "Failure", message, code: status, ...fields }));
  }

  function matches(url: URL, namespace: string | undefined, { metadata }: KubeObject): boolean {
    if (namespace !== undefined && metadata.namespace !== namespace) return false;
    const wanted = (url.searchParams.get("labelSelector") ?? "").split(",").filter(Boolean);
    const field = url.searchParams.get("fieldSelector")?.replace("metadata.name=", "");
    if (field && field !== metadata.name) return false;
    return wanted.every((term) => metadata.labels?.[term.split("=")[0] ?? ""] === term.split("=")[1]);
  }

  function list(url: URL, plural: string, namespace: string | undefined, response: ServerResponse): void {
    const next = url.searchParams.get("continue");
    const limit = Math.min(Number(url.searchParams.get("limit") ?? 0) || Number.POSITIVE_INFINITY, pageObjects);
    const page = next ? pages.get(next) : { version, rest: [...ofKind(plural).values()].map(({ object }) => object) };
    if (!page) {
      refuse(response, 410, "The provided continue parameter is too old", { reason: "Expired" });
      return;
    }
    const all = next ? page.rest : page.rest.filter((object) => matches(url, namespace, object));
    const rest = all.slice(limit);
    tokens += 1;
    const more = rest.length > 0 ? `page-${tokens}` : undefined;
    if (more) pages.set(more, { version: page.version, rest });
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        kind: "List",
        metadata: { resourceVersion: String(page.version), continue: more },
        items: all.slice(0, limit),
      }),
    );
  }

  function watch(url: URL, plural: string, namespace: string | undefined, response: ServerResponse): void {
    const from = Number(url.searchParams.get("resourceVersion"));
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const write = (text: string) => void (open.dead || response.writableEnded || response.write(text));
    if (from < compactedAt) {
      const object = { kind: "Status", code: 410, reason: "Expired", message: `too old resource version: ${from}` };
      response.end(`${JSON.stringify({ type: "ERROR", object })}\n`);
      return;
    }
    const tell = ({ type, object, before, plural: of }: Happening) => {
      if (of !== plural) return;
      const was = before !== undefined && matches(url, namespace, before);
      const is = type !== "DELETED" && matches(url, namespace, object);
      // To one who selects, what no longer fits is gone, and what fits now is new.
      const told = is ? (was ? "MODIFIED" : "ADDED") : "DELETED";
      if (was || is) write(`${JSON.stringify({ type: told, object })}\n`);
    };
    const open: OpenWatch = { tell, write, response, dead: false };
    watches.add(open);
    for (const happening of history) if (happening.version > from) tell(happening);
    const lastsMs = Number(url.searchParams.get("timeoutSeconds")) * 1_000;
    const endMs = clock.monotonicMs() + lastsMs;
    let bookmark: Timer | undefined;
    const bookmarks = () => {
      const inMs = Math.min(60_000, endMs - 2_000 - clock.monotonicMs());
      if (inMs <= 0) return;
      bookmark = clock.timer(inMs, () => {
        const object = { metadata: { resourceVersion: String(version) } };
        write(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
        bookmarks();
      });
    };
    if (url.searchParams.get("allowWatchBookmarks") === "true") bookmarks();
    const end = clock.timer(lastsMs, () => void (open.dead || response.end()));
    response.on("close", () => {
      watches.delete(open);
      bookmark?.cancel();
      end.cancel();
    });
  }

  function readLog(url: URL, key: string, response: ServerResponse): void {
    const log = logs.get(key);
    if (!log) {
      refuse(response, 404, "no such pod", { details: { name: key } });
      return;
    }
    const since = url.searchParams.get("sinceTime")?.slice(0, 19) ?? "";
    const tail = url.searchParams.get("tailLines");
    const lines = log.lines.filter((line) => line.slice(0, 19) >= since).slice(tail ? -Number(tail) : 0);
    response.writeHead(200);
    response.flushHeaders();
    for (const line of lines) response.write(`${line}\n`);
    if (url.searchParams.get("follow") !== "true" || !log.running) {
      response.end();
      return;
    }
    const follower = { key, response };
    followers.add(follower);
    response.on("close", () => followers.delete(follower));
  }

  async function write(request: IncomingMessage, url: URL, at: Target, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {};
    const { plural, namespace, name, key } = at;
    const before = name === undefined ? undefined : ofKind(plural).get(key);
    const manager = url.searchParams.get("fieldManager") ?? "unknown";
    const send = (object: unknown) => void response.end(JSON.stringify(object));
    const missing = () =>
      refuse(response, 404, `${plural} "${name}" not found`, { reason: "NotFound", details: { name } });
    if (request.method === "POST") {
      const own = `${namespace ?? ""}/${body.metadata.name}`;
      if (ofKind(plural).has(own)) return refuse(response, 409, "already exists", { reason: "AlreadyExists" });
      return send(put(plural, { ...body, metadata: { ...body.metadata, ...(namespace && { namespace }) } }, manager));
    }
    if (request.method === "DELETE") {
      if (!before) return missing();
      const { uid, resourceVersion } = body.preconditions ?? {};
      const { metadata } = before.object;
      if ((uid && uid !== metadata.uid) || (resourceVersion && resourceVersion !== metadata.resourceVersion)) {
        return refuse(response, 409, "the precondition does not hold", { reason: "Conflict" });
      }
      remove(plural, key);
      return send({ kind: "Status", status: "Success" });
    }
    if (at.below === "status") {
      if (!before) return missing();
      const status = { ...((before.object["status"] ?? {}) as Plain), ...body.status };
      return send(commit(plural, "MODIFIED", { ...before.object, status }, before.owners));
    }
    try {
      const owners: Owners = before?.owners ?? new Map();
      const live = (before?.object ?? { metadata: { name, namespace } }) as Plain;
      const next = applyTo(live, body, manager, url.searchParams.get("force") === "true", owners);
      const object = { apiVersion: body.apiVersion, kind: body.kind, ...next } as unknown as KubeObject;
      return send(before ? commit(plural, "MODIFIED", object, owners) : create(plural, object, owners));
    } catch (thrown) {
      if (thrown instanceof Conflict) return refuse(response, 409, thrown.message, { reason: "Conflict" });
      throw thrown;
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://fake");
    const text = `${request.method} ${request.url}`;
    requests.push(text);
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      return refuse(response, 401, "Unauthorized");
    }
    const refusal = refusals.findIndex(({ only = "" }) => text.includes(only));
    if (refusal >= 0) {
      const [{ status, headers } = { status: 500, headers: {} }] = refusals.splice(refusal, 1);
      return refuse(response, status, `refused with ${status}`, { headers });
    }
    if (url.pathname === "/version") {
      return void response.end(JSON.stringify({ major: "1", minor: "34", gitVersion: "v1.34.0-fake" }));
    }
    const at = targetOf(url);
    if (!at || hidden.has(at.plural)) return void response.writeHead(404).end("404 page not found\n");
    const isWatch = url.searchParams.get("watch") === "1";
    const verb = at.name ? "get" : isWatch ? "watch" : "list";
    if (forbidden.has(`${verb} ${at.plural}`)) {
      return refuse(response, 403, `User "test" cannot ${verb} resource "${at.plural}"`, { reason: "Forbidden" });
    }
    if (at.below?.startsWith("proxy")) {
      return void response.end(`${request.method} ${at.name} ${at.below.slice(5)}${url.search}`);
    }
    if (request.method !== "GET") return write(request, url, at, response);
    if (at.below === "log") return readLog(url, at.key, response);
    if (isWatch) return watch(url, at.plural, at.namespace, response);
    if (at.name === undefined) return list(url, at.plural, at.namespace, response);
    const found = ofKind(at.plural).get(at.key);
    if (found) return void response.end(JSON.stringify(found.object));
    return refuse(response, 404, `${at.plural} "${at.name}" not found`, { details: { name: at.name } });
  }

  const server = createServer((request, response) => void serve(request, response));
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: (names) => [...names][0] ?? false });
  server.on("upgrade", (request, socket, head) => {
    if (forbidden.has("exec pods")) {
      const status = JSON.stringify({ kind: "Status", code: 403, message: "exec is not allowed" });
      socket.end(`HTTP/1.1 403 Forbidden\r\ncontent-length: ${status.length}\r\n\r\n${status}`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (ws) => serveExec(ws, new URL(request.url ?? "/", "http://fake")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  owner.after(async () => {
    const closed = once(server, "close");
    server.close();
    for (const ws of sockets.clients) ws.terminate();
    server.closeAllConnections();
    await closed;
  });

  return {
    url,
    requests,
    hidden,
    forbidden,
    logs,
    put,
    remove,
    get version() {
      return version;
    },
    objects: (plural: string) => [...ofKind(plural).values()].map(({ object }) => object),
    get watching() {
      return watches.size;
    },
    /** Refuses the next request that fits. */
    refuse: (refusal: FakeRefusal) => void refusals.push(refusal),
    requireToken(wanted: string) {
      token = wanted;
    },
    /** Cuts every connection there is, in the middle of whatever they carry. */
    cut() {
      for (const { write } of watches) write('{"type":"MODIF');
      server.closeAllConnections();
    },
    get execs() {
      return sockets.clients.size;
    },
    breakExecs() {
      for (const ws of sockets.clients) ws.terminate();
    },
    /** Ends every watch and log politely, as a server that stops does. */
    endStreams() {
      for (const { response } of [...watches, ...followers]) response.end();
    },
    /** Nothing is told any more on the watches of now, though their connections stand. */
    freeze() {
      for (const watch of watches) watch.dead = true;
    },
    /** Forgets the past: older watches and pages are gone. */
    compact() {
      compactedAt = version;
      pages.clear();
      history.length = 0;
    },
    /** As a server that forgets quicker than anybody can ask. */
    alwaysGone() {
      compactedAt = Number.POSITIVE_INFINITY;
    },
    print(key: string, line: string) {
      const log = logs.get(key) ?? { lines: [], running: true };
      logs.set(key, log);
      log.lines.push(line);
      for (const { key: of, response } of followers) {
        if (of === key && !response.writableEnded) response.write(`${line}\n`);
      }
    },
    writeKubeconfig(folder: string, withToken = "test"): string {
      const path = join(folder, "kubeconfig");
      writeFileSync(
        path,
        JSON.stringify({
          "current-context": "fake",
          contexts: [{ name: "fake", context: { cluster: "fake", user: "fake" } }],
          clusters: [{ name: "fake", cluster: { server: url } }],
          users: [{ name: "fake", user: { token: withToken } }],
        }),
      );
      return path;
    },
  };
}

interface Target {
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly key: string;
  readonly below: string | undefined;
}

function targetOf({ pathname }: URL): Target | undefined {
  const parts = pathPattern.exec(pathname);
  if (!parts) return undefined;
  const [, , namespace, plural = "", encoded, below] = parts;
  const name = encoded === undefined ? undefined : decodeURIComponent(encoded);
  return { plural, namespace, name, key: `${namespace ?? ""}/${name}`, below };
}

function uidOf({ object }: Stored): { uid?: string } {
  return object.metadata.uid === undefined ? {} : { uid: object.metadata.uid };
}
