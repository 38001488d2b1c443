/** Upgrades a request to a WebSocket, with the checks of the Go provider. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { WebSocketServer } from "ws";
import { ByteBudget } from "../../runtime/byte-budget.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
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

interface UpgradesDeps extends Pick<RuntimeDeps, "clock" | "log"> {
  readonly admission: Admission;
}

/** Input of all streams: per client as many commands as it may have open, each with two frames of 64 KB. */
const inputBytes = { perClient: 24 * 2 ** 20, total: 64 * 2 ** 20, assured: 0 };

export function createUpgrades({ admission, clock, log }: UpgradesDeps) {
  const server = new WebSocketServer<typeof StreamSocket>({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, autoPong: false },
    ...{ WebSocket: StreamSocket, maxPayload: streamFrameBytes, closeTimeout: streamStalledMs },
  });
  const budget = new ByteBudget(inputBytes);
  return {
    /** Throws AKP_STREAMS_TOO_MANY before anything is sent. */
    accept(
      request: IncomingMessage,
      upgrade: Upgrade,
      admissionRequest: AdmissionRequest,
      handler: StreamHandler,
    ): void {
      const admitted = admission.admit(admissionRequest);
      const socket = upgrade.take();
      // `ws` expects the header without alternatives, and would choose an offered subprotocol.
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

const badRequest = upgradeFailure(400, "Bad Request");
const otherVerb = upgradeFailure(405, "Method Not Allowed");
const forbidden = upgradeFailure(403, "Forbidden");
const upgradeRequired = upgradeFailure(426, "Upgrade Required", [["Upgrade", "websocket"]]);

/** The error response to an invalid upgrade request. */
export function upgradeError(request: IncomingMessage): RestAnswer | undefined {
  if (!hasToken(request, "connection", "upgrade")) return badRequest;
  if (!hasToken(request, "upgrade", "websocket")) return upgradeRequired;
  if (request.method !== "GET") return otherVerb;
  if (firstHeader(request, "sec-websocket-version") !== "13") return badRequest;
  if (!isOwnOrigin(request)) return forbidden;
  return key.test(firstHeader(request, "sec-websocket-key") ?? "") ? undefined : badRequest;
}

/** 16 bytes in base64. */
const key = /^[+/0-9A-Za-z]{22}==$/;

function hasToken(request: IncomingMessage, name: string, token: string): boolean {
  return headerValues(request, name).some((value) =>
    value.split(",").some((each) => each.trim().toLowerCase() === token),
  );
}

/** Pages of other hosts may not connect; other clients send no Origin. */
function isOwnOrigin(request: IncomingMessage): boolean {
  const origin = firstHeader(request, "origin");
  if (origin === undefined) return true;
  const host = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@]*@)?([^/?#]*)/i.exec(origin)?.[1] ?? "";
  return host.toLowerCase() === firstHeader(request, "host")?.toLowerCase();
}

function upgradeFailure(status: number, text: string, more: RestAnswer["headers"] = []): RestAnswer {
  const [type, noSniff] = textHeaders;
  return { status, headers: [type, ["Sec-Websocket-Version", "13"], ...more, noSniff], body: `${text}\n` };
}
