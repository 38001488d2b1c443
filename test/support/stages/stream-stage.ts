/** A gateway that has one stream and nothing else, on the virtual clock: what a test streams, to real TLS sockets. */
import { EventEmitter } from "node:events";
import type { TestContext } from "node:test";
import type { TLSSocket } from "node:tls";
import type { MirrorView, StepListener } from "../../../src/chain/chain.ts";
import type { Lease } from "../../../src/chain/records.ts";
import {
  AuthError,
  type CallerCredentials,
  type CallerIdentity,
  type Grant,
  identityOf,
} from "../../../src/gateway/auth/identity.ts";
import { noCertificate } from "../../../src/gateway/certificate/file-certificate.ts";
import { failure } from "../../../src/gateway/rest/answer.ts";
import { createRequestBudget } from "../../../src/gateway/rest/connections.ts";
import { createRest } from "../../../src/gateway/rest/rest.ts";
import type { StreamRoute } from "../../../src/gateway/rest/route.ts";
import { startRestServer } from "../../../src/gateway/rest/server.ts";
import { createAdmission } from "../../../src/gateway/streams/admission.ts";
import type { StreamHandler } from "../../../src/gateway/streams/tenant-stream.ts";
import { createUpgrades } from "../../../src/gateway/streams/upgrade.ts";
import type { Address } from "../../../src/market/address.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import {
  connectGateway,
  type GatewayConnection,
  type GatewayRequest,
  parseResponse,
  requestBytes,
} from "../gateway-client.ts";
import { makeCertificate } from "../test-certificate.ts";
import { createVirtualClock } from "../virtual-clock.ts";
import { clientFrame, type Frame, frameTypes, upgradeHeaders } from "../web-socket-bytes.ts";

export { type Frame, upgradeHeaders } from "../web-socket-bytes.ts";

const provider = "akash1provider" as Address;
export const streamPath = "/lease/1/1/1/logs";

export async function serveStreams(t: TestContext, handler: StreamHandler, more: Partial<StreamRoute> = {}) {
  const clock = createVirtualClock();
  const steps: StepListener[] = [];
  /** What the chain and its accounts say, until a test changes it. */
  const world = {
    leaseState: "active",
    isInCluster: true,
    error: undefined as Error | undefined,
    untilMs: clock.now() + 900_000,
  };
  const authenticator = {
    identify({ authorization }: CallerCredentials): CallerIdentity | Promise<CallerIdentity> {
      if (world.error) throw world.error;
      if (authorization === undefined) throw new AuthError(401, "unauthorized access");
      const grant: Grant =
        authorization === "only logs" ? { access: "scoped", scopes: new Set(["logs"]) } : { access: "full" };
      const identity = identityOf(authorization as Address, grant, world.untilMs);
      return authorization === "later" ? clock.yield().then(() => identity) : identity;
    },
  };
  const mirror = { lease: () => ({ state: world.leaseState }) as Lease } as unknown as MirrorView;
  const admission = createAdmission({
    ...{ authenticator, clock },
    leases: { find: () => ({ state: world.isInCluster ? "idle" : "unknown" }) },
    chain: { mirror, onStep: (listener) => void steps.push(listener) },
  });
  const route: StreamRoute = {
    ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/logs", access: "stream", scope: "logs" },
    ...{ about: "", answers: {} },
    prepare: ({ query }) => (query.has("nonsense") ? failure(400, "nonsense") : handler),
    ...more,
  };
  const budget = createRequestBudget();
  const rest = createRest({
    ...{ routes: [route], authenticator, budget, clock, log: silentLog },
    streams: { provider, upgrades: createUpgrades({ admission, clock, log: silentLog }) },
  });
  const { certPem: certificate, keyPem: key } = makeCertificate({ name: "own" });
  const own = { current: { certificate, key }, onChange: () => undefined };
  const server = await startRestServer({
    listen: { host: "127.0.0.1", port: 0 },
    certificates: { own, public: noCertificate },
    ...{ publicHost: undefined, rest, budget, clock, log: silentLog },
    onHandshakeFailure: () => undefined,
    onRejection: () => undefined,
  });
  const close = async () => {
    admission.stop();
    const closed = server.close();
    // Its patience is virtual too.
    await Promise.race([closed, clock.advance(10_000)]);
    await closed;
  };
  t.after(close);
  const step = () => Promise.all(steps.map((listener) => listener({ changed: [] })));
  return { port: server.port, clock, admission, world, step, close };
}

/** A client byte by byte, whose header is who it is. It answers no ping and no close frame unless it is told to. */
export async function openStream(port: number, more: Partial<GatewayRequest & GatewayConnection> = {}) {
  const socket = await connectGateway({ port, ...more });
  const client = readFrames(socket);
  socket.write(requestBytes({ path: streamPath, authorization: "akash1tenant", headers: upgradeHeaders, ...more }));
  await client.until(() => client.answer !== undefined);
  return client;
}

function readFrames(socket: TLSSocket) {
  const frames: Frame[] = [];
  const changes = new EventEmitter().setMaxListeners(100);
  let answer: ReturnType<typeof parseResponse>;
  let [rest, isEnded] = [Buffer.alloc(0), false];

  function read(): boolean {
    if (!answer) {
      const headEnd = rest.indexOf("\r\n\r\n") + 4;
      if (headEnd < 4) return false;
      answer = parseResponse(rest.includes("HTTP/1.1 101") ? rest.subarray(0, headEnd) : rest);
      rest = rest.subarray(answer?.status === 101 ? headEnd : rest.length);
      return answer !== undefined;
    }
    const [first = 0, length = 0] = rest;
    const start = length === 127 ? 10 : length === 126 ? 4 : 2;
    if (rest.length < start) return false;
    const size = length === 127 ? Number(rest.readBigUInt64BE(2)) : length === 126 ? rest.readUInt16BE(2) : length;
    if (rest.length < start + size) return false;
    const type = frameTypes[(first & 15) as keyof typeof frameTypes];
    frames.push({ type, bytes: Buffer.from(rest.subarray(start, start + size)) });
    rest = rest.subarray(start + size);
    return true;
  }

  socket.on("data", (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (read());
    changes.emit("change");
  });
  socket.once("close", () => {
    isEnded = true;
    changes.emit("change");
  });
  return {
    socket,
    frames,
    get answer() {
      return answer;
    },
    get isEnded() {
      return isEnded;
    },
    count: (type: Frame["type"]) => frames.filter((frame) => frame.type === type).length,
    get close(): { readonly code: number | undefined; readonly reason: string } | undefined {
      const bytes = frames.find(({ type }) => type === "close")?.bytes;
      return bytes && { code: bytes.length > 1 ? bytes.readUInt16BE() : undefined, reason: bytes.toString("utf8", 2) };
    },
    send(type: Frame["type"], bytes: string | Uint8Array = ""): void {
      socket.write(clientFrame(type, bytes));
    },
    /** Resolves when it is so, and also when the connection ends. */
    async until(isSo: () => boolean): Promise<void> {
      while (!isSo() && !isEnded) await new Promise((resolve) => changes.once("change", resolve));
    },
  };
}
