/** From a request to a WebSocket: what the network's gateway asks of one that wants to become it, and how it becomes one. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { WebSocketServer } from "ws";
import { ByteBudget } from "../../runtime/byte-budget.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import { type RestAnswer, textHeaders } from "../rest/answer.ts";
import { firstHeader, headerValues } from "../rest/request-head.ts";
import type { Admission, AdmissionRequest } from "./admission.ts";
import { streamFrameBytes } from "./stream-input.ts";
import type { StreamHandler } from "./tenant-stream.ts";
import { StreamSocket, serveStream, streamStalledMs } from "./web-socket-stream.ts";

export interface Upgrade {
  take(): Socket;
  readonly head: Buffer;
}

export type Upgrades = ReturnType<typeof createUpgrades>;

interface UpgradesDeps {
  readonly admission: Admission;
  readonly clock: Clock;
  readonly log: Log;
}

/** Input: per client as many commands as one may have open, each with a frame of 64 KB and as much behind it. */
const inputBytes = { perClient: 24 * 2 ** 20, total: 64 * 2 ** 20, assured: 0 };

export function createUpgrades({ admission, clock, log }: UpgradesDeps) {
  const server = new WebSocketServer<typeof StreamSocket>({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, autoPong: false },
    ...{ WebSocket: StreamSocket, maxPayload: streamFrameBytes, closeTimeout: streamStalledMs },
  });
  const budget = new ByteBudget(inputBytes);
  return {
    /** Throws where there may be no more streams, and then nothing was answered. */
    accept(request: IncomingMessage, upgrade: Upgrade, asked: AdmissionRequest, handler: StreamHandler): void {
      const admitted = admission.admit(asked);
      const socket = upgrade.take();
      // Among others it may be all that a client can do; and no protocol is chosen, whatever is offered.
      request.headers.upgrade = "websocket";
      delete request.headers["sec-websocket-protocol"];
      let isOpen = false;
      server.handleUpgrade(request, socket, upgrade.head, (webSocket) => {
        isOpen = true;
        const holding = budget.open(admitted.tenant);
        serveStream(handler, { webSocket, socket, admitted, holding, clock, log });
      });
      if (!isOpen) admitted.release();
    },
  };
}

const badRequest = refusedUpgrade(400, "Bad Request");
const otherVerb = refusedUpgrade(405, "Method Not Allowed");
const forbidden = refusedUpgrade(403, "Forbidden");
const upgradeRequired = refusedUpgrade(426, "Upgrade Required", [["Upgrade", "websocket"]]);

/** Undefined where it may become a WebSocket, as far as it is up to the request. */
export function upgradeRefusal(request: IncomingMessage): RestAnswer | undefined {
  if (!hasToken(request, "connection", "upgrade")) return badRequest;
  if (!hasToken(request, "upgrade", "websocket")) return upgradeRequired;
  if (request.method !== "GET") return otherVerb;
  if (firstHeader(request, "sec-websocket-version") !== "13") return badRequest;
  if (!isOwnOrigin(request)) return forbidden;
  return key.test(firstHeader(request, "sec-websocket-key") ?? "") ? undefined : badRequest;
}

/** Sixteen bytes in base64. */
const key = /^[+/0-9A-Za-z]{22}==$/;

function hasToken(request: IncomingMessage, name: string, token: string): boolean {
  return headerValues(request, name).some((value) =>
    value.split(",").some((each) => each.trim().toLowerCase() === token),
  );
}

/** A page of another host may not have its visitors' browsers ask us. Who is no browser names none. */
function isOwnOrigin(request: IncomingMessage): boolean {
  const origin = firstHeader(request, "origin");
  if (origin === undefined) return true;
  const host = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@]*@)?([^/?#]*)/i.exec(origin)?.[1] ?? "";
  return host.toLowerCase() === firstHeader(request, "host")?.toLowerCase();
}

function refusedUpgrade(status: number, text: string, more: RestAnswer["headers"] = []): RestAnswer {
  const [type, noSniff] = textHeaders;
  return { status, headers: [type, ["Sec-Websocket-Version", "13"], ...more, noSniff], body: `${text}\n` };
}
