/** The simulated API server behind real HTTP and WebSockets, with what can happen to a wire. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { WebSocketServer } from "ws";
import type { SimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { bridgeExec, bridgePort, readExecUrl } from "./exec-bridge.ts";
import type { Owner } from "./owner.ts";

export type KubeHttpServer = Awaited<ReturnType<typeof startKubeHttpServer>>;

export async function startKubeHttpServer(owner: Owner, cluster: SimulatedCluster) {
  const transport = cluster.transport();
  const requests: string[] = [];
  let token: string | undefined;

  const isAllowed = ({ headers }: IncomingMessage) =>
    token === undefined || headers.authorization === `Bearer ${token}`;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url: path = "/" } = request;
    requests.push(`${method} ${path}`);
    if (!isAllowed(request)) {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ kind: "Status", code: 401, message: "Unauthorized" }));
      return;
    }
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const sent = await buffer(request);
    const {
      status,
      headers: heads,
      body,
    } = await transport.send({ method, path, headers, body: sent, verb: method, resource: path });
    response.writeHead(status, heads as Record<string, string>);
    response.flushHeaders();
    body.on("error", () => response.destroy());
    response.on("close", () => body.destroy());
    body.pipe(response);
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: (names) => [...names][0] ?? false });

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const url = new URL(request.url ?? "/", "http://face");
    const [, namespace = "", name = ""] = /\/namespaces\/([^/]+)\/pods\/([^/]+)\/portforward$/.exec(url.pathname) ?? [];
    if (name !== "") {
      const port = Number(url.searchParams.get("ports"));
      const connection = await transport.forwardPort({ namespace, name }, port, {});
      sockets.handleUpgrade(request, socket, head, (ws) => bridgePort(ws, port, connection));
      return;
    }
    const { at, options } = readExecUrl(url);
    const session = await transport.exec(at, options);
    sockets.handleUpgrade(request, socket, head, (ws) => bridgeExec(ws, session));
  }

  server.on("upgrade", (request, socket, head) => {
    upgrade(request, socket, head).catch((thrown: unknown) => {
      const { code, details } = ProviderError.from(thrown);
      const { status = 500, reason } = details as { status?: number; reason?: string };
      // A name says that it is the object which is not there, and not the kind.
      const about = code === "AKP_KUBE_NOT_FOUND" ? { details: { name: "it" } } : {};
      const body = JSON.stringify({ kind: "Status", code: status, message: reason, ...about });
      socket.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    });
  });
  let connections = 0;
  server.on("connection", (socket) => {
    connections += 1;
    socket.once("close", () => {
      connections -= 1;
    });
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
    transport.close();
    await closed;
  });

  return {
    url,
    requests,
    requireToken(wanted: string) {
      token = wanted;
    },
    /** Cuts every connection there is, in the middle of whatever they carry. */
    cut: () => server.closeAllConnections(),
    get connections() {
      return connections;
    },
    get execs() {
      return sockets.clients.size;
    },
    breakExecs() {
      for (const ws of sockets.clients) ws.terminate();
    },
    writeKubeconfig(folder: string, withToken = "test"): string {
      const path = join(folder, "kubeconfig");
      writeFileSync(
        path,
        JSON.stringify({
          "current-context": "face",
          contexts: [{ name: "face", context: { cluster: "face", user: "face" } }],
          clusters: [{ name: "face", cluster: { server: url } }],
          users: [{ name: "face", user: { token: withToken } }],
        }),
      );
      return path;
    },
  };
}
