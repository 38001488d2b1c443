/** Responses of routes. The Go provider has three forms of errors; clients print the body as it is. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Clock, formatHttpTime } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { countHeaders, firstHeader } from "./request-head.ts";

export interface RestAnswer {
  readonly status: number;
  /** In the order in which they are sent. Date, Content-Length and Connection are added. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array;
}

const jsonHeaders = [["Content-Type", "application/json; charset=UTF-8"]] as const;
const plainJsonHeaders = [["Content-Type", "application/json"]] as const;
export const textHeaders = [
  ["Content-Type", "text/plain; charset=utf-8"],
  ["X-Content-Type-Options", "nosniff"],
] as const;

/** `text` is JSON, without a line end. */
export function json(text: string | Uint8Array, status = 200): RestAnswer {
  return { status, headers: jsonHeaders, body: text };
}

/** Without a charset, as for migrations and authentication errors. */
export function plainJson(text: string, status = 200): RestAnswer {
  return { status, headers: plainJsonHeaders, body: text };
}

export function failure(status: number, text: string): RestAnswer {
  return { status, headers: textHeaders, body: `${text}\n` };
}

export function empty(status: number): RestAnswer {
  return { status, headers: [], body: "" };
}

export function withHeader({ status, headers, body }: RestAnswer, name: string, value: string): RestAnswer {
  return { status, headers: [...headers, [name, value]], body };
}

export function messageAnswer(status: number, message: string): RestAnswer {
  return plainJson(JSON.stringify({ message }), status);
}

/** A shorter unread body is discarded to keep the connection; a longer one closes it. */
const gatewayUnreadBytes = 256 * 1024;
/** How long a client has to read the last response before the connection is destroyed. */
const gatewayFarewellMs = second / 2;

/** The Date header, cached for a second. */
export function createDateText(clock: Clock): () => string {
  let [second, text] = [-1, ""];
  return () => {
    const now = Math.floor(clock.now() / 1_000);
    if (now !== second) [second, text] = [now, formatHttpTime(now * 1_000)];
    return text;
  };
}

export function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: RestAnswer,
  date: string,
): void {
  const flat = [...headers.flat(), "Date", date];
  const isHead = request.method === "HEAD";
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  if (!isHead || length > 0) flat.push("Content-Length", `${length}`);
  const isLeftUnread = !request.complete && restOf(request) > gatewayUnreadBytes;
  if (isLeftUnread) response.shouldKeepAlive = false;
  if (!response.shouldKeepAlive && request.httpVersionMinor === 1) flat.push("Connection", "close");
  // Node would add both in another order.
  response.sendDate = false;
  response.removeHeader("Connection");
  if (isLeftUnread) response.once("finish", () => request.socket.destroySoon());
  response.writeHead(status, flat).end(isHead ? undefined : body);
}

/** Length of the body; Infinity where it is chunked. */
export function restOf(request: IncomingMessage): number {
  const isChunked = countHeaders(request, "transfer-encoding") > 0;
  return isChunked ? Number.POSITIVE_INFINITY : Number(firstHeader(request, "content-length") ?? 0);
}

/** Response to a malformed request; closes the connection. */
export function sendError(socket: Socket, statusText: string, clock: Clock): void {
  const head = `HTTP/1.1 ${statusText}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n`;
  sendAndClose(socket, `${head}${statusText}`, clock);
}

/** Writes the last bytes of a connection, and destroys it if the client does not close it. */
export function sendAndClose(socket: Socket, bytes: string | Uint8Array, clock: Clock): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(bytes);
  // Destroyed at once, with unread bytes of the client, the kernel would drop what was written.
  socket.resume();
  const timer = clock.timer(gatewayFarewellMs, () => socket.destroy());
  socket.once("close", () => timer.cancel());
}
