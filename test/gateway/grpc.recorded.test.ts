/** Our gRPC compared with recorded answers of the Go gateway; each intended difference is a row with its reason. */
import assert from "node:assert/strict";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { test } from "node:test";
import { connect } from "node:tls";
import { providerV1Status } from "../../src/runtime/grpc/akash-proto.ts";
import { createCutter } from "../../src/runtime/grpc/framing.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { readJsonRecording } from "../support/recordings.ts";
import { publicHost, startGatewayStage } from "../support/stages/gateway-stage.ts";

type Pairs = readonly (readonly [string, string])[];

interface Vector {
  readonly name: string;
  readonly request: {
    readonly method?: string;
    readonly path: string;
    readonly headers?: Record<string, string>;
    readonly body?: string | { readonly base64: string };
    readonly auth: string;
    readonly alpn?: string[];
    readonly sends?: string;
  };
  readonly answer: {
    readonly status?: number | null;
    readonly headers?: Pairs;
    readonly trailers?: Pairs;
    readonly messages?: readonly { readonly base64?: string }[];
    readonly stopped?: boolean;
    readonly received?: { readonly base64: string };
    readonly end?: string | null;
  };
}

interface Got {
  status: number;
  headers: [string, string][];
  trailers: [string, string][];
  messages: Buffer[];
}

const okTrailers: [string, string][] = [
  ["grpc-status", "0"],
  ["grpc-message", ""],
];

/** By recording: why ours differs, and how. */
const intended: Readonly<Record<string, { readonly why: string; readonly isOurs: (got: Got) => boolean }>> = {
  "GetStatus, malformed protobuf": {
    why: "the same code, in our words",
    isOurs: ({ headers }) => valueIn(headers, "grpc-status") === "13",
  },
  "BidScreening, empty request": {
    why: "it is served, to those who say who they are",
    isOurs: ({ headers }) => valueIn(headers, "grpc-status") === "16",
  },
  "LeaseRPC is not registered": {
    why: "it is served, to those who say who they are",
    isOurs: ({ headers }) => valueIn(headers, "grpc-status") === "16",
  },
  "health is not registered": { why: "it is served", isOurs: ({ trailers }) => isOk(trailers) },
  "reflection v1, list_services": {
    why: "there are more services",
    isOurs: ({ messages }) => messages[0]?.includes("akash.provider.lease.v1.LeaseRPC") ?? false,
  },
  "reflection v1alpha, list_services": { why: "older tools ask for it", isOurs: ({ trailers }) => isOk(trailers) },
  "reflection v1alpha, file of unknown symbol": {
    why: "older tools ask for it",
    isOurs: ({ trailers }) => isOk(trailers),
  },
  "mTLS, certificate never published": {
    why: "the rejection is readable, while the Go gateway ends the handshake",
    isOurs: ({ headers }) => valueIn(headers, "grpc-status") === "16",
  },
  "reflection v1, file of akash.provider.v1.ProviderRPC": {
    why: "without the options of Go's code generator, and with LeaseRPC's like",
    isOurs: ({ messages }) => messages[0]?.includes("akash/provider/v1/status.proto") ?? false,
  },
  "authorization metadata": {
    why: "it is rejected, while the Go process crashes",
    isOurs: ({ headers }) => valueIn(headers, "grpc-status") === "16",
  },
};

/** Each with what ours does instead. */
const rawIntended: Readonly<Record<string, string>> = {
  "raw: server's first HTTP/2 frames": "our settings also say how many calls are served at once",
  "raw: client says nothing": "our settings also say how many calls are served at once",
  "raw: no preface but HTTP/1.1": "it gets the error, then is closed",
  "ALPN: http/1.1 only": "OpenSSL ends the handshake with the alert that Go sends to others",
  "ALPN: http/1.1 and h2": "our settings also say how many calls are served at once",
  "keepalive: five pings at once without streams": "five are no flood",
};

test("calls → the recorded answers of the Go gateway", async () => {
  await using owner = createOwner();
  const stage = await startGatewayStage(owner, { tenants: 2 });
  const { vectors } = readJsonRecording("gateway/grpc.json") as { vectors: readonly Vector[] };
  const [tenant, otherTenant] = stage.tenants;
  assert.ok(tenant && otherTenant);
  const published = await tenant.certificate();
  const { certificateManager } = await import("@akashnetwork/chain-sdk");
  const unpublished = await certificateManager.generatePEM(otherTenant.address);
  const seen = new Set<string>();
  for (const vector of vectors) {
    const { name, request, answer } = vector;
    if (request.alpn) continue;
    const credentials = request.auth.includes("never published")
      ? { cert: unpublished.cert, key: unpublished.privateKey }
      : request.auth.startsWith("mTLS")
        ? published
        : {};
    const got = await send(owner, stage.grpcPort, vector, credentials);
    const row = intended[name];
    if (row) {
      seen.add(name);
      assert.ok(row.isOurs(got), `${name} (${row.why}): ${JSON.stringify(got)}`);
      continue;
    }
    assert.equal(got.status, answer.status, name);
    assert.deepEqual(got.headers, answer.headers, name);
    if (!answer.stopped) assert.deepEqual(got.trailers, answer.trailers, name);
    assert.equal(got.messages.length > 0, (answer.messages ?? []).length > 0, name);
    const isStatus = /Status$/.test(request.path) && got.messages[0] && !valueIn(got.headers, "grpc-encoding");
    if (isStatus) assert.deepEqual(shapeOf(got.messages[0] as Buffer), [publicHost, true], name);
    else if (request.path.includes("Reflection"))
      assert.equal(got.messages[0]?.toString("base64"), answer.messages?.[0]?.base64, name);
  }
  assert.deepEqual([...seen].sort(), Object.keys(intended).sort(), "intended differences that nothing shows");
});

test("other protocols and pings → as recorded of the Go gateway", async () => {
  await using owner = createOwner();
  const stage = await startGatewayStage(owner);
  const { vectors } = readJsonRecording("gateway/grpc.json") as { vectors: readonly Vector[] };
  const seen = new Set<string>();
  for (const { name, request, answer } of vectors.filter((each) => each.request.alpn)) {
    const [alpn, isEnded] = await converse(owner, stage.grpcPort, request);
    const wanted = [request.alpn?.includes("h2") ? "h2" : false, answer.end === "server closed"];
    if (rawIntended[name]) seen.add(name);
    if (name.startsWith("keepalive")) assert.deepEqual([alpn, isEnded], ["h2", false], name);
    else assert.deepEqual([alpn, isEnded], wanted, name);
  }
  assert.deepEqual([...seen].sort(), Object.keys(rawIntended).sort(), "intended differences that nothing shows");
});

function send(owner: Owner, port: number, { request, answer }: Vector, credentials: object): Promise<Got> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, ...credentials });
  session.on("error", () => undefined);
  owner.after(() => session.destroy());
  return new Promise((resolve, reject) => {
    const { method = "POST", path, headers = {}, body = { base64: "AAAAAAA=" } } = request;
    const stream = session.request({ ":method": method, ":path": path, ...headers });
    const got: Got = { status: 0, headers: [], trailers: [], messages: [] };
    const cut = createCutter(2 ** 30);
    stream.on("response", (head) => {
      got.status = Number(head[":status"]);
      got.headers = pairsOf(head);
    });
    stream.on("trailers", (head) => {
      got.trailers = pairsOf(head);
    });
    stream.on("data", (chunk: Buffer) => {
      for (const frame of cut.take(chunk)) got.messages.push(Buffer.from(frame.subarray(5)));
      if (answer.stopped) stream.close();
    });
    stream.on("error", reject);
    stream.on("close", () => resolve(got));
    // Node ends a GET by itself.
    if (method !== "GET") stream.end(Buffer.from(typeof body === "string" ? body : body.base64, "base64"));
  });
}

const preface = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Buffer.of(0, 0, 0, 4, 0, 0, 0, 0, 0)]);
const ping = Buffer.concat([Buffer.of(0, 0, 8, 6, 0, 0, 0, 0, 0), Buffer.from("12345678")]);

/** What was agreed on, and whether the server hung up rather than stay; five answers to five pings are staying, too. */
function converse(owner: Owner, port: number, { alpn = [], sends = "" }: Vector["request"]) {
  return new Promise<[alpn: string | false | null, isEnded: boolean]>((resolve) => {
    const options = { port, host: "127.0.0.1", rejectUnauthorized: false };
    const socket = connect(alpn.length > 0 ? { ...options, ALPNProtocols: alpn } : options);
    owner.after(() => void socket.destroy());
    let received = Buffer.alloc(0);
    const pings = sends.includes("PING") ? 5 : 0;
    const stays = () => {
      const isGreeted = received.length >= 9;
      const answers = received.toString("latin1").split("12345678").length - 1;
      if (isGreeted && answers === pings && !sends.startsWith("GET")) resolve([socket.alpnProtocol, false]);
    };
    socket.on("secureConnect", () => {
      if (sends.startsWith("preface"))
        socket.write(Buffer.concat([preface, ...Array.from({ length: pings }, () => ping)]));
      if (sends.startsWith("GET")) socket.write("GET / HTTP/1.1\r\n\r\n");
    });
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      stays();
    });
    socket.on("error", () => resolve([false, true]));
    socket.on("close", () => resolve([socket.alpnProtocol || false, true]));
  });
}

function pairsOf(headers: IncomingHttpHeaders): [string, string][] {
  return Object.entries(headers)
    .filter(([name]) => name !== "date")
    .map(([name, value]) => [name, String(value)]);
}

function valueIn(pairs: Pairs, name: string): string | undefined {
  return pairs.find(([each]) => each === name)?.[1];
}

function isOk(trailers: Pairs): boolean {
  return JSON.stringify(trailers) === JSON.stringify(okTrailers);
}

function shapeOf(message: Buffer): [host: string | undefined, isWhole: boolean] {
  const { cluster, bidEngine, manifest, publicHostnames, timestamp } = providerV1Status.decode(message);
  const parts = [
    cluster?.leases,
    cluster?.inventory?.cluster,
    cluster?.inventory?.leasedIp,
    bidEngine,
    manifest,
    timestamp,
  ];
  return [publicHostnames[0], parts.every((part) => part !== undefined)];
}
