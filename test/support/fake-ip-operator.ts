/** An IP operator for tests: its REST as the network's answers it, with a pool that a test fills. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { Owner } from "./owner.ts";

export interface FakeIpOperator {
  readonly port: number;
  /** Of the pool; undefined while nothing was counted yet. */
  total: number | undefined;
  inUse: number;
  /** The addresses of an order's lease, one per port; undefined for a Service that got none. */
  readonly leases: Map<string, readonly (string | undefined)[]>;
  /** What goes wrong with a request, if anything. */
  fault: (path: string) => Fault | undefined;
  /** The paths that were asked for. */
  readonly asked: string[];
}

export type Fault = "hang" | "cut" | { readonly status: number; readonly body: string };

export async function startFakeIpOperator(owner: Owner, total?: number): Promise<FakeIpOperator> {
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    operator.asked.push(path);
    const fault = operator.fault(path);
    if (fault === "hang") return;
    if (fault === "cut") return void response.destroy();
    const { status, body } = fault ?? answerTo(path, operator);
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  owner.after(async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  });
  const address = server.address();
  const operator: FakeIpOperator = {
    port: typeof address === "object" && address ? address.port : 0,
    total,
    inUse: 0,
    leases: new Map(),
    fault: () => undefined,
    asked: [],
  };
  return operator;
}

const nothing = { status: 204, body: "" };

function answerTo(path: string, { total, inUse, leases }: FakeIpOperator): Exclude<Fault, string> {
  if (path === "/usage") return total === undefined ? nothing : json({ Available: total, InUse: inUse });
  const order = /^\/ip-lease-status\/([^/]+\/\d+\/\d+\/\d+)$/.exec(path)?.[1];
  if (order === undefined) return { status: 404, body: "404 page not found\n" };
  const ports = leases.get(order);
  if (!ports) return nothing;
  if (ports.includes(undefined)) {
    const error = 'metal lb error lease service error: service "web-ip-80-tcp" has 0 load balancers and is invalid';
    return { ...json({ Error: error, Code: -1 }), status: 500 };
  }
  return json(
    ports.map((IP, at) => ({ Port: 80 + at, ExternalPort: 80 + at, ServiceName: "web", IP, Protocol: "TCP" })),
  );
}

function json(value: unknown) {
  return { status: 200, body: `${JSON.stringify(value)}\n` };
}
