/** A raw HTTP/1.1 client of the gateway: any server name, certificate and bytes; responses are returned unparsed as well. */
import { connect as connectTcp, type Socket } from "node:net";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";

export interface GatewayConnection {
  readonly port: number;
  /** Undefined: none is sent. */
  readonly servername?: string | undefined;
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined;
  readonly tls?: ConnectionOptions;
}

export interface GatewayRequest {
  readonly method?: string;
  readonly path: string;
  /** Sent in this order, after Host. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly authorization?: string | undefined;
  readonly body?: string | Uint8Array;
}

export interface GatewayResponse {
  /** Like "HTTP/1.1 200 OK". */
  readonly line: string;
  readonly status: number;
  /** Raw, in the order received. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  header(name: string): string | undefined;
  readonly body: string;
}

/** Sends one request on a new connection. Rejects with the error of the handshake. */
export async function sendRequest(connection: GatewayConnection, request: GatewayRequest): Promise<GatewayResponse> {
  const socket = await connectGateway(connection);
  try {
    return await requestOn(socket, request);
  } finally {
    socket.destroy();
  }
}

/** Sends it on an open connection, and keeps that open. */
export async function requestOn(socket: Socket, request: GatewayRequest): Promise<GatewayResponse> {
  const raw = await exchange(socket, requestBytes(request), (bytes) => {
    return parseResponse(bytes, request.method === "HEAD") !== undefined;
  });
  const answer = parseResponse(raw, request.method === "HEAD");
  if (!answer) throw new Error(`closed without an answer: ${JSON.stringify(raw.toString("latin1"))}`);
  return answer;
}

/** Resolves after the handshake. */
export function connectGateway({ port, servername, certificate, tls }: GatewayConnection): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      ...{ host: "127.0.0.1", port, rejectUnauthorized: false, minVersion: "TLSv1.3" },
      ...(servername !== undefined && { servername }),
      ...certificate,
      ...tls,
    });
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      socket.off("error", reject);
      // Later errors close the connection.
      socket.on("error", () => undefined);
      resolve(socket);
    });
  });
}

/** Without TLS. */
export function connectPlain(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host: "127.0.0.1", port }, () => resolve(socket));
    socket.on("error", reject);
  });
}

/** Sends bytes; returns what is received until it is enough or the connection ends. */
export function exchange(
  socket: Socket,
  bytes: string | Uint8Array,
  isEnough: (sofar: Buffer) => boolean = () => false,
): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const end = () => {
      socket.off("data", take).off("close", end);
      resolve(Buffer.concat(chunks));
    };
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      if (isEnough(Buffer.concat(chunks))) end();
    };
    if (socket.listenerCount("error") === 0) socket.on("error", () => undefined);
    socket.on("data", take).once("close", end);
    socket.write(bytes);
  });
}

export function requestBytes({ method = "GET", path, headers = [], authorization, body }: GatewayRequest): Buffer {
  const own: (readonly [string, string])[] = [["Host", "localhost:8443"]];
  if (authorization !== undefined) own.push(["Authorization", authorization]);
  const hasFraming = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const length = body === undefined ? 0 : Buffer.byteLength(body);
  const framing: (readonly [string, string])[] =
    body === undefined || hasFraming ? [] : [["Content-Length", String(length)]];
  const lines = [...own, ...headers, ...framing].map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"),
    Buffer.from(body ?? ""),
  ]);
}

/** Undefined while incomplete. */
export function parseResponse(bytes: Buffer, isHead = false): GatewayResponse | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [line = "", ...rows] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const headers = rows.map((row): [string, string] => {
    const colon = row.indexOf(":");
    return [row.slice(0, colon), row.slice(colon + 1).trim()];
  });
  const header = (name: string) => headers.find(([each]) => each.toLowerCase() === name.toLowerCase())?.[1];
  const rest = bytes.subarray(headEnd + 4);
  const status = Number(line.split(" ")[1]);
  const body = isHead ? Buffer.alloc(0) : bodyOf(rest, header("Content-Length"), header("Transfer-Encoding"));
  return body && { line, status, headers, header, body: body.toString() };
}

function bodyOf(rest: Buffer, length: string | undefined, encoding: string | undefined): Buffer | undefined {
  if (encoding === "chunked") return unchunk(rest);
  // Without either it ends with the connection; such bodies are short, and arrive in one piece.
  if (length === undefined) return rest;
  return rest.length < Number(length) ? undefined : rest.subarray(0, Number(length));
}

function unchunk(bytes: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (bytes.length < end + 2) return undefined;
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}
